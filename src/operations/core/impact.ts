import { isDeepStrictEqual } from 'node:util'
import type { Impact } from '../../contract/impact.ts'
import type { Region } from '../../contract/regions.ts'
import { resources } from '../../contract/resources.ts'
import { differences } from '../../domain/access/undo.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import type { Tx } from '../../store/db.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { answeredSince } from '../../store/repositories/last-requests.ts'
import type { EnvironmentTarget, Target } from './access-targets.ts'
import type { Change, Context, Outcome } from './handler.ts'
import { hideEnvironments } from './visibility.ts'

/** Whether undo-change can put back a change. */
export type IsUndoable = (change: Change) => boolean

const recentMs = 3_600_000
/** Requests are noted once a minute. */
const noteMs = 60_000

/** The impact of a write: the statement of its handler, and the facts that follow from the change itself. */
export async function completeImpact(
  { tx, now, installation }: Context,
  target: Target & Partial<EnvironmentTarget>,
  { change, impact: stated = {} }: Outcome<unknown>,
  isUndoable: IsUndoable,
): Promise<Impact> {
  const actions = stated.actions ?? [hasDifference(change) ? 'change-settings' : 'none']
  const hasEffect = !actions.includes('none')
  const environments = hasEffect ? (stated.environments ?? touched(target, change)) : []
  const regions = installation.regions()
  const since = new Date(Date.parse(now) - recentMs - noteMs).toISOString()
  return {
    actions,
    environments,
    serving:
      (await answeredSince(tx, environments, since)) ||
      (await servesUncounted(tx, environments, { known: beforehand(target, change), regions })),
    containersEnded: stated.containersEnded ?? 0,
    containersStarted: stated.containersStarted ?? 0,
    downtimeSeconds: stated.downtimeSeconds === undefined ? 0 : stated.downtimeSeconds,
    dataLost: stated.dataLost ?? false,
    undo: stated.undo ?? (change && isUndoable(change) ? 'undo-change' : 'none'),
    zCloudsDelta: change?.zCloudsDelta ?? 0,
    variables: {
      changed: stated.variables?.changed ?? changedVariables(change),
      appliedOf: stated.variables?.appliedOf ?? [],
    },
    peopleNotified: stated.peopleNotified ?? 0,
  }
}

/** Environments as they were before the write, which may have stopped or deleted them. */
function beforehand({ environment }: Partial<EnvironmentTarget>, change: Change | undefined): Environment[] {
  const isEnvironment = change?.objectType === resources.environment.auditName && change.before !== null
  return [...(environment ? [environment] : []), ...(isEnvironment ? [change.before as Environment] : [])]
}

/** Requests to databases and to environments of a cluster are not counted: they serve while they run. */
async function servesUncounted(
  tx: Tx,
  appEnvIds: readonly string[],
  { known, regions }: { known: readonly Environment[]; regions: readonly Region[] },
): Promise<boolean> {
  const inCluster = ({ region }: Environment) =>
    regions.some((one) => one.region === region && one.engine === 'kubernetes')
  for (const appEnvId of appEnvIds) {
    const environment =
      known.find((one) => one.appEnvId === appEnvId) ?? (await findEnvironment(tx, { appEnvId }))
    if (!environment || !['RUNNING', 'UPDATING'].includes(environment.status)) continue
    if (environment.database || inCluster(environment)) return true
  }
  return false
}

/** M2: ids of environments that the caller may not see are hidden, as in the changes. */
export function shownImpact(target: Target & Partial<EnvironmentTarget>, impact: Impact): Impact {
  const { account, membership, environment } = target
  if (!account || membership === undefined) return impact
  const environments = impact.environments.map((id) =>
    hideEnvironments({ account, membership }, id, environment?.appEnvId),
  )
  return { ...impact, environments }
}

/** A save of the same values changes nothing but the revision. */
function hasDifference(change: Change | undefined): boolean {
  if (!change) return false
  return differences(change.before, change.after).length > 0 || (change.alsoChanged ?? []).length > 0
}

/** The environment of the object, and those that change with it. */
function touched({ environment }: Partial<EnvironmentTarget>, change: Change | undefined): string[] {
  const changes = change ? [change, ...(change.alsoChanged ?? [])] : []
  const changed = changes.filter(({ objectType }) => objectType === resources.environment.auditName)
  return [
    ...new Set([...(environment ? [environment.appEnvId] : []), ...changed.map(({ objectId }) => objectId)]),
  ]
}

/** Names of the variables that are saved differently after the change. */
function changedVariables(change: Change | undefined): string[] {
  const [before, after] = [variablesIn(change?.before), variablesIn(change?.after)]
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => !isDeepStrictEqual(before.get(name), after.get(name)),
  )
}

function variablesIn(object: unknown): Map<string, unknown> {
  const { saved } = (object ?? {}) as { saved?: { envVars?: { name: string }[] } }
  return new Map((saved?.envVars ?? []).map((variable) => [variable.name, variable]))
}
