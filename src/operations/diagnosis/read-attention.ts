import type { AlertState } from '../../contract/alerts.ts'
import type { Attention } from '../../contract/diagnosis.ts'
import { type AttentionFacts, attentionOf } from '../../domain/diagnosis/attention.ts'
import { type Facts, kindOf } from '../../domain/diagnosis/facts.ts'
import type { Environment, PodRecord } from '../../domain/environments/environment.ts'
import { pendingFields, refreshedVariables } from '../../domain/environments/pending-changes.ts'
import { servesSince, servingOf } from '../../domain/environments/serving.ts'
import { recentTrafficMs } from '../../metrics/source.ts'
import { listActivities } from '../../store/repositories/activities.ts'
import { countAlertStates } from '../../store/repositories/alerts.ts'
import { listAppsOfAccount } from '../../store/repositories/apps.ts'
import { findRollout, listDesiredPods } from '../../store/repositories/rollouts.ts'
import type { AfterRead, Context } from '../core/handler.ts'
import { loadTraffic } from './metric-facts.ts'

/** Failures that a newer call brought about. */
const endedByCall = new Set(['superseded', 'canceled'])

interface AccountAttention {
  /** Environments that need attention, by id. */
  attention: Map<string, Attention>
  /** How many alerts are in each state. */
  alerts: Map<AlertState, number>
}

/**
 * Reads rows; the result counts requests of the last minute, after the transaction. Counts only the given environments
 * (M2).
 */
export async function readAttention(
  context: Context,
  accountId: string,
  environments: readonly Environment[],
): Promise<(after: AfterRead) => Promise<AccountAttention>> {
  const { tx } = context
  const given = new Set(environments.map(({ appEnvId }) => appEnvId))
  const states = (await countAlertStates(tx, { accountId })).filter(({ appEnvId }) => given.has(appEnvId))
  const firing = new Map(
    states.filter(({ state }) => state === 'Firing').map(({ appEnvId, count }) => [appEnvId, count]),
  )
  const alerts = new Map<AlertState, number>()
  for (const { state, count } of states) alerts.set(state, (alerts.get(state) ?? 0) + count)
  const kinds = new Map((await listAppsOfAccount(tx, accountId)).map(({ app }) => [app.appId, kindOf(app)]))
  const pods = new Map<string, PodRecord[]>()
  for (const pod of await listDesiredPods(tx, accountId)) {
    pods.set(pod.appEnvId, [...(pods.get(pod.appEnvId) ?? []), pod])
  }
  const known: Omit<AttentionFacts, 'traffic'>[] = []
  for (const environment of environments) {
    const { appEnvId, appId, cliEnvName: envName, status, desiredState, currentRolloutId } = environment
    known.push({
      envName,
      kind: kinds.get(appId) ?? 'app',
      status,
      desiredState,
      currentRolloutId,
      failed: await failedDeployment(context, environment),
      pods: pods.get(appEnvId) ?? [],
      firingAlerts: firing.get(appEnvId) ?? 0,
      pendingSince: pendingSinceOf(environment),
      isRefreshed: refreshedVariables(environment.saved, environment.applied).length > 0,
      nowMs: Date.parse(context.now),
    })
  }
  return async (after) => {
    const traffic = await readTraffic(context, after, environments, kinds)
    const attention = new Map<string, Attention>()
    for (const [index, { appEnvId }] of environments.entries()) {
      const found = attentionOf({ ...known[index]!, traffic: traffic.get(appEnvId) ?? null })
      if (found) attention.set(appEnvId, found)
    }
    return { attention, alerts }
  }
}

/** One read for each environment whose newest deployment neither serves nor is in progress; these are few. */
async function failedDeployment(
  { tx }: Context,
  environment: Environment,
): Promise<AttentionFacts['failed']> {
  const { appEnvId, latestRolloutId, currentRolloutId, wantedRolloutId, desiredState } = environment
  if (latestRolloutId === null || latestRolloutId === wantedRolloutId) return null
  if (latestRolloutId === currentRolloutId && desiredState === 'running') return null
  const latest = await findRollout(tx, latestRolloutId)
  const reason = latest?.status === 'FAILED' ? latest.failure?.reason : undefined
  if (reason === undefined || endedByCall.has(reason)) return null
  const failed = { version: latest!.version, reason }
  if (desiredState === 'running') return failed
  const newest = await listActivities(tx, appEnvId, { limit: 1, offset: 0, from: null, to: null })
  return newest.activities[0]?.activity === 'STOP' ? null : failed
}

/** Requests of the last minute to the serving version: one read for all environments. */
async function readTraffic(
  { now }: Context,
  { metrics, read }: AfterRead,
  environments: readonly Environment[],
  kinds: ReadonlyMap<string, Facts['kind']>,
): Promise<Map<string, NonNullable<Facts['traffic']>>> {
  const toMs = Date.parse(now)
  const fromMs = toMs - recentTrafficMs
  const served = environments.filter(({ appId }) => ['app', 'function'].includes(kinds.get(appId) ?? 'app'))
  const queries = served.map(({ appEnvId }) => ({ appEnvId, fromMs, toMs }))
  const counts = await metrics.traffic(queries)
  const found = new Map<string, NonNullable<Facts['traffic']>>()
  for (const [index, environment] of served.entries()) {
    const { failed, unanswered } = counts[index]!
    if (failed + unanswered === 0) continue
    const sinceMs = await read((tx) => servesSinceMs(tx, environment))
    if (sinceMs === null) continue
    found.set(
      environment.appEnvId,
      (await loadTraffic({ now }, metrics, environment.appEnvId, sinceMs)).traffic,
    )
  }
  return found
}

/** When the serving version began to serve; null if there is none. Read only for the few environments with failures. */
async function servesSinceMs(tx: Context['tx'], environment: Environment): Promise<number | null> {
  const { currentRolloutId, wantedRolloutId } = environment
  const current = currentRolloutId === null ? null : await findRollout(tx, currentRolloutId)
  const wanted = wantedRolloutId === null ? null : await findRollout(tx, wantedRolloutId)
  const serving = servingOf(environment, current, wanted)
  return serving && Date.parse(servesSince(serving))
}

/** Before the first deployment all changes wait for it, and a deployment in progress has its own settings. */
function pendingSinceOf(environment: Environment): string | null {
  const { saved, applied, latestRolloutId, wantedRolloutId, updatedAt } = environment
  if (latestRolloutId === null || wantedRolloutId !== null) return null
  return pendingFields(saved, applied).length > 0 ? updatedAt : null
}
