import type { StoredAlert } from '../domain/alerts/alert.ts'
import { alertNotification } from '../domain/alerts/notification.ts'
import { nextAlertState, type Reading } from '../domain/alerts/state.ts'
import { newId } from '../domain/ids.ts'
import type { Tx } from '../store/db.ts'
import { removeAlert } from '../store/repositories/alerts.ts'
import { contactPointsNotifiedOf, insertNotification } from './outbox.ts'
import { findAlertStates, noteCheck, type StoredAlertState, saveAlertState } from './states.ts'

/** One evaluation of one alert, ready to be stored. */
export interface Evaluation {
  alert: StoredAlert
  state: StoredAlertState
  appEnvName: string
  reading: Reading
  /** Monotonic time since the previous evaluation; 0 if unknown. */
  sinceMs: number
  durationMs: number
  nowMs: number
  /** Public URL of the alert. */
  url: string
  /** Whether the evaluator's cycles now include the alert. */
  isInCycle: boolean
}

/**
 * Applies the state machine and stores the result: state, history and outbox rows in the caller's transaction, so
 * that a transition is never stored without its notifications. Null if the alert was changed or removed meanwhile:
 * then nothing is written.
 */
export async function storeEvaluation(tx: Tx, evaluation: Evaluation): Promise<StoredAlertState | null> {
  const { alert, state, reading, nowMs } = evaluation
  const at = new Date(nowMs).toISOString()
  if (!changesSomething(evaluation)) return noteCheck(tx, state, at)
  const { progress, notification } = nextAlertState(state.progress, reading, evaluation)
  const value = reading.kind === 'value' ? reading.value : null
  const after: StoredAlertState = {
    ...state,
    progress,
    startedAt: notification === 'firing' ? at : progress.isOpen ? state.startedAt : null,
    checkedAt: at,
    isInCycle: evaluation.isInCycle,
  }
  const from = state.progress.state
  const change = from === progress.state ? null : { from, to: progress.state, at, value }
  if (!(await saveAlertState(tx, after, change))) return null
  if (notification) {
    await putNotifications(tx, {
      event: notification,
      alert,
      appEnvName: evaluation.appEnvName,
      value,
      before: state,
      after,
      nowMs,
      url: evaluation.url,
    })
  }
  return { ...after, version: state.version + 1 }
}

/** Whether storing the evaluation would change anything besides the time of the last check. */
export function changesSomething({ state, reading, isInCycle, ...time }: Evaluation): boolean {
  if (state.isInCycle !== isInCycle) return true
  const { progress } = nextAlertState(state.progress, reading, time)
  return progress.state !== state.progress.state || progress.heldMs !== state.progress.heldMs
}

/**
 * Removes an alert. If it is firing, it sends a resolved notification, because its receivers' incidents would
 * otherwise stay open. Returns whether it did. A paused alert sends nothing.
 */
export async function endAlert(
  tx: Tx,
  of: { alert: StoredAlert; appEnvName: string; nowMs: number; url: string },
): Promise<boolean> {
  const { alert, appEnvName, nowMs, url } = of
  const state = (await findAlertStates(tx, [alert.alertId])).get(alert.alertId)
  const owes = alert.enabled && state?.progress.isOpen === true
  if (owes) {
    const after = { ...state, progress: { ...state.progress, state: 'Normal' as const, isOpen: false } }
    const event = 'resolved' as const
    await putNotifications(tx, { event, alert, appEnvName, value: null, before: state, after, nowMs, url })
  }
  await removeAlert(tx, alert)
  return owes
}

async function putNotifications(
  tx: Tx,
  of: {
    event: 'firing' | 'resolved'
    alert: StoredAlert
    appEnvName: string
    value: number | null
    before: StoredAlertState
    after: StoredAlertState
    nowMs: number
    url: string
  },
): Promise<void> {
  const { event, alert, before, after, nowMs } = of
  const { episode } = after.progress
  const firingOrdinal = episode * 2
  const notification = alertNotification({
    event,
    eventId: newId('evt'),
    alert,
    appEnvName: of.appEnvName,
    value: of.value,
    state: after.progress.state,
    previousState: before.progress.state,
    startedAt: after.startedAt ?? before.startedAt ?? new Date(nowMs).toISOString(),
    url: of.url,
  })
  const notified = event === 'resolved' ? await contactPointsNotifiedOf(tx, alert.alertId, firingOrdinal) : []
  for (const contactPointId of new Set([...alert.contactPointIds, ...notified])) {
    await insertNotification(
      tx,
      {
        contactPointId,
        alertId: alert.alertId,
        appEnvId: alert.appEnvId,
        ordinal: event === 'firing' ? firingOrdinal : firingOrdinal + 1,
        dedupKey: `${alert.alertId}-${episode}`,
        notification,
      },
      nowMs,
    )
  }
}
