import { listStateChanges } from '../../../alerting/state-history.ts'
import { findAlertStates } from '../../../alerting/states.ts'
import type { StoredAlert } from '../../../domain/alerts/alert.ts'
import { episodeIdOf } from '../../../domain/alerts/notification.ts'
import type { AppRecord } from '../../../domain/apps/app-settings.ts'
import type { Environment } from '../../../domain/environments/environment.ts'
import type { TriggerState } from '../../../domain/remediation/next.ts'
import {
  conditionOf,
  type StoredRemediation,
  type StoredRun,
} from '../../../domain/remediation/remediation.ts'
import type { Tx } from '../../../store/db.ts'
import { type Account, findAccount } from '../../../store/repositories/accounts.ts'
import { findAlert } from '../../../store/repositories/alerts.ts'
import { findApp } from '../../../store/repositories/apps.ts'
import { lastChangeByOthers } from '../../../store/repositories/audit-changes.ts'
import { findEnvironment } from '../../../store/repositories/environments.ts'
import { findCauseState, findRemediation } from '../../../store/repositories/remediations.ts'
import { findUser } from '../../../store/repositories/users.ts'
import type { Seen } from './seen.ts'

/** The stored objects of a run. */
export interface RunTarget {
  remediation: StoredRemediation
  environment: Environment
  app: AppRecord
  account: Account
  alert: StoredAlert | null
}

/** Null if the remediation or its environment was deleted. */
export async function loadRunTarget(tx: Tx, run: StoredRun): Promise<RunTarget | null> {
  const remediation = await findRemediation(tx, run.remediationId)
  const environment = remediation && (await findEnvironment(tx, run))
  const stored = environment && (await findApp(tx, environment.appId))
  const account = stored && (await findAccount(tx, environment.accountId))
  if (!account) return null
  const { alertId } = run.trigger
  const alert = alertId === undefined ? null : await findAlert(tx, alertId)
  return { remediation, environment, app: stored.app, account, alert }
}

/** The state of the trigger, before the steps (`after` null) or since they ended. */
export async function triggerStateOf(
  tx: Tx,
  run: StoredRun,
  { remediation, alert }: RunTarget,
  seen: Seen,
): Promise<TriggerState> {
  const { alertId, cause } = run.trigger
  if (alertId !== undefined) return alertTrigger(tx, run, alert, seen)
  const gone = 'cause' in remediation.trigger && remediation.trigger.cause === cause ? null : otherTrigger
  const state = await findCauseState(tx, run.remediationId)
  if (!state || gone !== null || `${run.remediationId}-${state.episode}` !== run.episode)
    return { is: 'over', why: '', samples: 0, gone }
  if (run.verifyFrom !== null) {
    const isOver = state.absent > 0 && (seen.healthy ?? true)
    return { is: isOver ? 'over' : 'on', why: '', samples: run.healthy, gone }
  }
  if (!state.isOpen) return { is: 'over', why: '', samples: state.absent, gone }
  const why = 'The last diagnosis did not find the cause; it waits whether that holds.'
  return { is: state.absent > 0 ? 'paused' : 'on', why, samples: state.seen, gone }
}

const otherTrigger = 'The trigger of the remediation was changed.'

async function alertTrigger(
  tx: Tx,
  run: StoredRun,
  alert: StoredAlert | null,
  seen: Seen,
): Promise<TriggerState> {
  const { alertId } = run.trigger
  const gone = await goneAlert(tx, run, alert)
  if (gone !== null || alertId === undefined) return { is: 'over', why: '', samples: 0, gone }
  const state = (await findAlertStates(tx, [alertId])).get(alertId)
  const isOpen = state?.progress.isOpen && episodeIdOf(alertId, state.progress.episode) === run.episode
  const now = state?.progress.state ?? 'Normal'
  const [last] = await listStateChanges(tx, alertId)
  // Values from before it was normal do not count.
  const normalSince = last?.to === 'Normal' ? last.at : null
  const after = [run.verifyFrom, normalSince]
    .filter((one) => one !== null)
    .sort()
    .at(-1)
  const samples = seen.samples.filter((t) => run.verifyFrom === null || t > Date.parse(after!)).length
  const at = { samples, gone }
  if (now === 'NoData' || now === 'Error')
    return {
      ...at,
      is: 'paused',
      why: `The alert has no data (${now}), which is neither a trigger nor a recovery.`,
    }
  if (run.verifyFrom !== null) {
    const isOver = now === 'Normal' && (seen.healthy ?? true)
    return { ...at, is: isOver ? 'over' : 'on', why: '' }
  }
  if (!isOpen) return { ...at, is: 'over', why: '' }
  if (seen.isSilent) return { ...at, is: 'paused', why: 'Its metric currently has no data.' }
  return now === 'Firing'
    ? { ...at, is: 'on', why: '' }
    : { ...at, is: 'paused', why: `The alert is currently ${now}, and its episode is still open.` }
}

async function goneAlert(tx: Tx, run: StoredRun, alert: StoredAlert | null): Promise<string | null> {
  const { alertId = '', startedAt } = run.trigger
  const by = async (what: string) => {
    const change = await lastChangeByOthers(tx, { type: 'alert', id: alertId }, startedAt)
    return change ? `${await nameOf(tx, change.principal)} ${what} at ${change.at}.` : `Somebody ${what}.`
  }
  if (!alert) return by('deleted the alert')
  if (!alert.enabled) return by('paused the alert')
  return run.condition === null || run.condition === conditionOf(alert) ? null : by('changed the alert')
}

/** What somebody did to the environment, or to another one that the run acts on, since the episode began. */
export async function changedByOthers(
  tx: Tx,
  { trigger }: StoredRun,
  appEnvIds: readonly string[],
): Promise<string | null> {
  for (const id of appEnvIds) {
    const change = await lastChangeByOthers(tx, { type: 'app-env', id }, trigger.startedAt)
    if (!change) continue
    const { principal, operation, at } = change
    return `${await nameOf(tx, principal)} did ${operation} at ${at}, after the episode began.`
  }
  return null
}

async function nameOf(tx: Tx, principal: string): Promise<string> {
  if (principal.startsWith('env_')) return `The token of the environment ${principal}`
  const user = await findUser(tx, { userId: principal })
  return user ? `${user.name || user.email} (${principal})` : principal
}
