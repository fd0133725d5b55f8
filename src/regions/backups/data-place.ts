import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  type Backup,
  type CopyLimits,
  type DatabaseAccess,
  defaultCopyLimits,
  type Restore,
} from '../../domain/backups/backup.ts'
import {
  type CopySource,
  type DatabaseContainerSpec,
  type Engine,
  EngineFailure,
  type RestoreSpec,
} from '../../engines/engine.ts'
import { checkedTar } from '../../engines/volume-tar.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { containerSpec, mountsOf } from '../rollouts/container-spec.ts'
import type { EnvironmentView } from '../rollouts/environment-view.ts'

/** The data of an environment, ready to be copied or replaced. */
export interface DataPlace {
  /** Another one after a change of the environment, to which a failure may be due. */
  name: string
  /** What roles have in a database; null for what has no roles. */
  dump(sink: Writable, signal: AbortSignal): Promise<DatabaseAccess | null>
  load(source: CopySource, restore: RestoreSpec, signal: AbortSignal): Promise<void>
}

/** A requested copy, and the environment and data that it copies. */
export type Work = { kind: 'backup'; id: string; of: Backup } | { kind: 'restore'; id: string; of: Restore }

/** `isTransient`: it surely changes; otherwise the copy fails with the reason after a while. */
interface NotReady {
  reason: string
  isTransient?: true
}

interface PlaceDeps {
  secrets: SecretBox
  limits?: CopyLimits | undefined
  engineOf(region: string): Engine
}

/** Throws if the data will not become ready. */
export function dataPlace(view: EnvironmentView, work: Work, deps: PlaceDeps): DataPlace | NotReady {
  return view.environment.database ? databasePlace(view, deps) : volumePlace(view, work, deps)
}

function databasePlace(view: EnvironmentView, { secrets, engineOf }: PlaceDeps): DataPlace | NotReady {
  if (view.environment.desiredState !== 'running') {
    throw new EngineFailure('database', 'The environment was stopped. Start it, then try again.')
  }
  // The server may have either password until the rotation is done.
  if (view.environment.database?.previousSecrets !== undefined)
    return { reason: 'The password of the database is being changed.', isTransient: true }
  const record = view.pods.find((pod) => pod.desiredState === 'run' && pod.ready && (pod.ordinal ?? 0) === 0)
  const rollout = [view.current, view.wanted].find((one) => one?.rollout.rolloutId === record?.rolloutId)
  if (!record || !rollout) return { reason: 'The database does not answer. get-app-env-status says why.' }
  const { database, ...rest } = containerSpec(view, rollout, record, secrets)
  if (!database) throw new EngineFailure('database', 'The environment is not a database.')
  const spec: DatabaseContainerSpec = { ...rest, database }
  const engine = engineOf(record.region)
  const { dumpDatabase, loadDatabase } = engine
  if (!dumpDatabase || !loadDatabase) throw unsupported(engine)
  return {
    name: spec.name,
    dump: (sink, signal) => dumpDatabase.call(engine, spec, sink, signal),
    load: (source, restore, signal) => loadDatabase.call(engine, spec, source, restore, signal),
  }
}

function volumePlace(
  view: EnvironmentView,
  { kind, id, of }: Work,
  { engineOf, limits = defaultCopyLimits }: PlaceDeps,
): DataPlace | NotReady {
  const { environment, current, wanted, pods } = view
  const { backupId, restoreId } = environment.volumeMove ?? {}
  const isOfMove = of.ofMove === true
  if (isOfMove && ![backupId, restoreId].includes(id))
    throw new EngineFailure('interrupted', 'The move was given up.')
  const version = kind === 'restore' && isOfMove ? wanted : current
  const settings = version === current ? environment.applied : version?.rollout.settings
  const [mount] = (settings && mountsOf(settings).mounts) ?? []
  if (!mount || !version) throw new EngineFailure('interrupted', 'The environment has no volume any more.')
  const { region, rolloutId } = version.rollout
  if (of.region !== undefined && ![region, environment.region].includes(of.region))
    throw new EngineFailure('interrupted', 'The environment was moved meanwhile. Try again.')
  if (kind === 'restore' && !isOfMove && environment.desiredState !== 'stopped')
    throw new EngineFailure('interrupted', 'The environment was started. Stop it, then try again.')
  const isAtRest = kind === 'restore' || isOfMove
  if (isAtRest && pods.length > 0)
    return { reason: 'Its containers do not end. get-app-env-pods shows them.' }
  const engine = engineOf(region)
  const { volumes } = engine
  if (!volumes) throw unsupported(engine)
  const { appEnvId, accountId, cliEnvName: envName } = environment
  const spec = { appEnvId, accountId, envName, mount, isAtRest, image: version.content.images[region] ?? '' }
  return {
    name: rolloutId,
    dump: async (sink, signal) => {
      const tar = checkedTar(volumes.dump(spec, signal), { mostBytes: limits.bytes })
      await pipeline(tar, sink, { end: false, signal })
      return null
    },
    load: async (source, _restore, signal) => volumes.load(spec, await source(), signal),
  }
}

function unsupported(engine: Engine): EngineFailure {
  return new EngineFailure('not supported', `The ${engine.kind} engine takes no such backups.`)
}
