import { isDeepStrictEqual } from 'node:util'
import type { Impact } from '../../contract/impact.ts'
import { resources } from '../../contract/resources.ts'
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
  { tx, now }: Context,
  target: Target & Partial<EnvironmentTarget>,
  { change, impact: stated = derived(change) }: Outcome<unknown>,
  isUndoable: IsUndoable,
): Promise<Impact> {
  const hasEffect = !stated.actions?.includes('none')
  const environments = stated.environments ?? (hasEffect ? touched(target, change) : [])
  const isRunningDatabase =
    target.app?.isDatabase === true &&
    target.environment !== undefined &&
    environments.includes(target.environment.appEnvId) &&
    ['RUNNING', 'UPDATING'].includes(target.environment.status)
  const since = new Date(Date.parse(now) - recentMs - noteMs).toISOString()
  return {
    actions: stated.actions ?? derived(change).actions,
    environments,
    serving: isRunningDatabase || (await answeredSince(tx, environments, since)),
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

/** M2: ids of environments that the caller may not see are hidden, as in the changes. */
export function shownImpact(target: Target & Partial<EnvironmentTarget>, impact: Impact): Impact {
  const { account, membership, environment } = target
  if (!account || membership === undefined) return impact
  const environments = impact.environments.map((id) =>
    hideEnvironments({ account, membership }, id, environment?.appEnvId),
  )
  return { ...impact, environments }
}

/** For handlers that state no impact yet. */
function derived(change: Change | undefined): { actions: Impact['actions'] } {
  if (!change) return { actions: ['none'] }
  if (change.before === null) return { actions: ['create-object'] }
  return { actions: [change.after === null ? 'delete-object' : 'change-settings'] }
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
