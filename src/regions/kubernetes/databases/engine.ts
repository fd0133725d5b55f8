import type { Readable, Writable } from 'node:stream'
import type { DatabaseVersion } from '../../../contract/databases.ts'
import type { DatabaseAccess } from '../../../domain/backups/backup.ts'
import type { DatabaseAvailability, DatabasePreset } from '../../../domain/databases/presets.ts'
import {
  type DatabaseTool,
  dumpTool,
  dumpWith,
  loadTool,
  passwordTool,
  toLoad,
} from '../../../engines/database-tools.ts'
import {
  type CopySource,
  type DatabaseContainerSpec,
  type DatabaseSpec,
  EngineFailure,
  type RestoreSpec,
} from '../../../engines/engine.ts'
import { changeRedisPassword, dumpRedis, loadRedis } from '../../../engines/redis/copy.ts'
import type { ClusterClient } from '../client.ts'
import { type ClusterOptions, label } from '../manifests/workload.ts'
import type { ExecPod } from '../pod-exec.ts'
import { containerNameIn, podIdOf } from '../pods.ts'
import type { WorkloadPod } from '../status.ts'
import { runDatabaseTool, withForwardedPort } from './pod-tools.ts'

interface ClusterDatabasesDeps {
  client: ClusterClient
  installationId: string
  podSecurity: ClusterOptions['podSecurity']
  /** Why the nodes cannot pull an image, if the region's registry reports it; null if they can, or it is unknown. */
  imageProblem(image: string): Promise<string | null>
}

/** The databases of a cluster: their availability, and commands inside a running one. */
export class ClusterDatabases {
  readonly #deps: ClusterDatabasesDeps

  constructor(deps: ClusterDatabasesDeps) {
    this.#deps = deps
  }

  async availabilityOf(preset: DatabasePreset): Promise<DatabaseAvailability> {
    const { client, podSecurity } = this.#deps
    const isPostgres = preset.dockerPreset === 'POSTGRESQL'
    if (!isPostgres && podSecurity === 'restricted') {
      return {
        available: false,
        unavailableReason:
          'Its image starts as root, which podSecurity restricted of the region refuses. Use another region.',
      }
    }
    if (isPostgres && !(await client.has('PostgresCluster'))) {
      return {
        available: false,
        unavailableReason:
          'The cluster has no CloudNativePG operator, which runs PostgreSQL there. Install it, or use another region.',
      }
    }
    const versions = await Promise.all(preset.versions.map((version) => this.#versionOf(version)))
    const replicas = isPostgres ? {} : { maxReplicas: 1 }
    if (versions.some(({ available }) => available)) return { available: true, versions, ...replicas }
    return {
      available: false,
      unavailableReason: versions[0]?.unavailableReason ?? 'It has no version.',
      versions,
    }
  }

  async #versionOf(version: DatabasePreset['versions'][number]): Promise<DatabaseVersion> {
    const { image } = version
    const problem = await this.#deps.imageProblem(image)
    if (problem === null) return { ...version, available: true }
    const unavailableReason = `The nodes of the cluster cannot pull ${image}: ${problem}. Push it there, or set LONGSHORE_DATABASE_IMAGES to a registry that has it.`
    return { ...version, available: false, unavailableReason }
  }

  async dump(
    spec: DatabaseContainerSpec,
    sink: Writable,
    signal: AbortSignal,
  ): Promise<DatabaseAccess | null> {
    const { database } = spec
    const tool = dumpTool(database, portOf(database))
    const run: Parameters<typeof dumpWith>[2] = (one, streams) =>
      this.#inside(spec, one, { ...streams, signal }, async () => {})
    if (tool) return dumpWith(tool, database, run, sink)
    await this.#inside(spec, null, { signal }, (reached) => dumpRedis(reached, sink, signal))
    return null
  }

  async load(
    spec: DatabaseContainerSpec,
    source: CopySource,
    restore: RestoreSpec,
    signal: AbortSignal,
  ): Promise<void> {
    const { database } = spec
    const tool = loadTool(database, portOf(database), restore)
    const streams = tool ? { input: toLoad(database, await source()), signal } : { signal }
    await this.#inside(spec, tool, streams, (reached) => loadRedis(reached, source, signal))
  }

  async changePassword(spec: DatabaseContainerSpec, previous: string, signal: AbortSignal): Promise<void> {
    const tool = passwordTool(spec.database, previous, portOf(spec.database))
    await this.#inside(spec, tool, { signal }, (reached) => changeRedisPassword(reached, previous, signal))
  }

  /** By a program in the container, or over the database's own protocol if it has no such program. */
  async #inside(
    spec: DatabaseContainerSpec,
    tool: DatabaseTool | null,
    streams: { input?: Readable; output?: Writable; signal: AbortSignal },
    byProtocol: (reached: DatabaseSpec) => Promise<void>,
  ): Promise<void> {
    const { client } = this.#deps
    const { database } = spec
    const pod = await this.#podOf(spec)
    if (tool) return runDatabaseTool(client, pod, tool, database, streams)
    const [first, ...others] = database.ports
    if (!first) throw new EngineFailure('not supported', 'This database has no backups.')
    await withForwardedPort(client, pod, first.port, (hostPort) =>
      byProtocol({ ...database, ports: [{ ...first, hostPort }, ...others] }),
    )
  }

  async #podOf({ appEnvId, podId }: DatabaseContainerSpec): Promise<ExecPod> {
    const { client, installationId } = this.#deps
    const selector = `${label.installation}=${installationId},${label.environment}=${appEnvId}`
    const pods = await client.list<WorkloadPod>('Pod', selector)
    const pod = pods.find((one) => podIdOf(one) === podId)
    if (!pod) throw new EngineFailure('database', 'The container of the database is gone. Try again.')
    const { namespace, name } = pod.metadata
    return { namespace, name, container: containerNameIn(pod) }
  }
}

function portOf(database: DatabaseSpec): number {
  return database.ports[0]!.port
}
