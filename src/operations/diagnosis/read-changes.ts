import { listStateChanges } from '../../alerting/state-history.ts'
import type { Activity } from '../../contract/app-env-reads.ts'
import type { Change } from '../../contract/diagnosis.ts'
import type { Break } from '../../domain/diagnosis/changes.ts'
import type { PodRecord } from '../../domain/environments/environment.ts'
import { listActivities } from '../../store/repositories/activities.ts'
import { listAlertsOfEnvironment } from '../../store/repositories/alerts.ts'
import { readAuditEntries, type StoredAuditEntry } from '../../store/repositories/audit.ts'
import { listPods } from '../../store/repositories/rollouts.ts'
import { findUsers } from '../../store/repositories/users.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { changedPaths } from '../core/diff.ts'
import type { Context } from '../core/handler.ts'
import type { Refreshed } from '../core/recorded.ts'
import { hideEnvironments } from '../core/visibility.ts'

interface TimeRange {
  from: string
  to: string
}
type Event = Omit<Change, 'rank'>

const mostRead = 500
const entriesRead = 300
const podsRead = 50

/** All changes of the range, newest first. */
export async function readChanges(
  context: Context,
  target: EnvironmentTarget,
  range: TimeRange,
): Promise<Event[]> {
  const { tx } = context
  const { appEnvId } = target.environment
  const page = { limit: mostRead, offset: 0, ...range }
  const { activities } = await listActivities(tx, appEnvId, page)
  const entries = await auditEntries(context, target, range)
  const pods = await listPods(tx, appEnvId, podsRead)
  const events = [
    ...activities.map(activityEvent),
    ...entries,
    ...pods.flatMap(podEvent),
    ...(await alertEvents(context, appEnvId)),
  ]
  return events
    .filter(({ at }) => at >= range.from && at <= range.to)
    .sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
}

/** Names of users for those who may read the audit log. */
export async function withNames<Event extends { by: string | null }>(
  { tx }: Context,
  { membership }: EnvironmentTarget,
  events: readonly Event[],
): Promise<(Event & { byName: string | null })[]> {
  const ids = membership?.admin ? events.flatMap(({ by }) => by ?? []) : []
  const users = await findUsers(tx, [...new Set(ids)])
  return events.map((event) => {
    const user = users.get(event.by ?? '')
    return { ...event, byName: user ? (user.name ?? user.email) : null }
  })
}

/** When the newest episode began in which alerts fired: those that overlap are one. */
export async function alertBreak(
  { tx }: Context,
  { environment }: EnvironmentTarget,
  { from, to }: TimeRange,
): Promise<Break | null> {
  const breaks: Break[] = []
  for (const alert of await listAlertsOfEnvironment(tx, environment.appEnvId)) {
    let until: string | null = null
    // Newest first: the change after one that fired ended it.
    for (const { at, to: state, value } of await listStateChanges(tx, alert.alertId)) {
      const { metric, threshold } = alert
      if (state === 'Firing' && at >= from && at <= to)
        breaks.push({ metric, at, before: threshold, after: value ?? threshold, until })
      until = at
    }
  }
  return firstOfNewest(breaks)
}

function firstOfNewest(breaks: readonly Break[]): Break | null {
  let first: Break | null = null
  for (const one of breaks.toSorted((a, b) => (a.at < b.at ? 1 : -1)))
    if (!first || !one.until || one.until >= first.at) first = one
  return first
}

const kinds: Readonly<Record<string, Change['kind']>> = {
  SCALE: 'scale',
  AUTOSCALE: 'scale',
  AUTOSCALING: 'scale',
  FUNCTION_CONFIG: 'settings',
  JOB_CONFIG: 'settings',
  APPLY_CHANGES: 'deployment',
  BACKUP: 'platform',
  RESTORE: 'platform',
  UNDO: 'settings',
  ROTATE_PASSWORD: 'settings',
}

function activityEvent({ activity, status, version, timestamp, userId }: Activity): Event {
  const of = version === null ? '' : ` of version ${version}`
  const what = `${activity}${of}: ${status}`
  return { at: timestamp, kind: kinds[activity] ?? 'deployment', what, names: [], by: userId }
}

/** Members who may read the audit log also see changes of access; other members see only changes of the environment. */
async function auditEntries(
  { tx }: Context,
  target: EnvironmentTarget,
  { from, to }: TimeRange,
): Promise<Event[]> {
  const { account, membership, environment } = target
  const { accountId } = account
  const of = membership?.admin ? { accountId } : { accountId, objectId: environment.appEnvId }
  const found: Event[] = []
  // Entries hold whole objects of up to megabytes, so each is reduced right after it is read.
  for await (const entry of readAuditEntries(tx, of, { limit: entriesRead, before: null })) {
    if (entry.at < from) break
    if (entry.at <= to && entry.outcome === 'done') found.push(...entryEvents(entry, target))
  }
  return found
}

function entryEvents(entry: StoredAuditEntry, target: EnvironmentTarget): Event[] {
  const { appEnvId } = target.environment
  const { at, operation, objectType, objectId, principal: by } = entry
  const shared = { at, by }
  if (objectType === 'membership' && accessTo(entry.before, appEnvId) !== accessTo(entry.after, appEnvId))
    return [{ ...shared, kind: 'access', what: `${operation} of ${objectId}`, names: [] }]
  if (objectType === 'token' && objectId === appEnvId)
    return [{ ...shared, kind: 'access', what: operation, names: [] }]
  if (objectType !== 'app-env' || objectId !== appEnvId || entry.before === null) return []
  const { refreshed } = (entry.after ?? {}) as Partial<Refreshed>
  if (refreshed)
    return [
      {
        ...shared,
        kind: 'variables',
        what: `${operation} of ${hideEnvironments(target, refreshed.source)}`,
        names: [...refreshed.variables],
      },
    ]
  const saved = changedPaths(savedOf(entry.before), savedOf(entry.after)).map(({ path }) => path.split('.'))
  const variables = saved.flatMap(([field, name]) => (field === 'envVars' && name ? [name] : []))
  const fields = saved
    .map(([field]) => field!)
    .filter((field) => field !== 'envVars' && field !== 'containers')
  return [
    ...(variables.length > 0
      ? [{ ...shared, kind: 'variables' as const, what: operation, names: distinct(variables) }]
      : []),
    ...(fields.length > 0
      ? [{ ...shared, kind: 'settings' as const, what: operation, names: distinct(fields) }]
      : []),
  ]
}

function savedOf(environment: unknown): unknown {
  return (environment as { saved?: unknown } | null)?.saved ?? null
}

/** An empty list names no environment: whether that means all of them is a setting of the account. */
function accessTo(membership: unknown, appEnvId: string): string {
  const ids = (membership as { allowedAppEnvIds?: string[] } | null)?.allowedAppEnvIds
  return ids === undefined ? 'none' : ids.length === 0 ? 'all' : String(ids.includes(appEnvId))
}

/** A container that ended by itself. */
function podEvent({ podId, lastTermination, desiredState, status }: PodRecord): Event[] {
  if (!lastTermination || (desiredState !== 'run' && status !== 'Failed')) return []
  const { finishedAt, exitCode, reason } = lastTermination
  const what = `Container ${podId} ended with code ${exitCode} (${reason})`
  return [{ at: finishedAt, kind: 'platform', what, names: [], by: null }]
}

async function alertEvents({ tx }: Context, appEnvId: string): Promise<Event[]> {
  const events: Event[] = []
  for (const { alertId } of await listAlertsOfEnvironment(tx, appEnvId)) {
    for (const { at, from, to } of await listStateChanges(tx, alertId))
      events.push({ at, kind: 'alert', what: `Alert ${alertId}: ${from} to ${to}`, names: [], by: null })
  }
  return events
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)]
}
