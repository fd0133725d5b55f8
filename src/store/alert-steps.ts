import type { StoredAlert } from '../domain/alert.ts'
import { nextAlertState, type Reading } from '../domain/alert-state.ts'
import { newId } from '../domain/ids.ts'
import { alertNotice } from '../domain/notice.ts'
import { findAlertStates, type StoredAlertState, saveAlertState } from './alert-states.ts'
import { removeAlert } from './alerts.ts'
import type { Tx } from './db.ts'
import { contactPointsToldOf, insertNotice } from './notices.ts'

/** One evaluation of one alert, to be stored. */
export interface Evaluation {
  alert: StoredAlert
  state: StoredAlertState
  appEnvName: string
  reading: Reading
  /** Monotonic time since the evaluation before; 0 when not known. */
  sinceMs: number
  durationMs: number
  nowMs: number
  /** Public address of the alert. */
  url: string
  /** Whether the evaluator's cycles cover the alert from now on. */
  isInCycle: boolean
}

/**
 * Takes the step of the state machine and stores it: state, history and outbox rows in the caller's transaction,
 * so that a transition and its notices are there together or not at all. Null when the alert changed or went
 * meanwhile: then nothing is written.
 */
export async function storeEvaluation(tx: Tx, evaluation: Evaluation): Promise<StoredAlertState | null> {
  const { alert, state, reading, nowMs } = evaluation
  const { progress, notice } = nextAlertState(state.progress, reading, evaluation)
  const at = new Date(nowMs).toISOString()
  const value = reading.kind === 'value' ? reading.value : null
  const after: StoredAlertState = {
    ...state,
    progress,
    startedAt: notice === 'firing' ? at : progress.isOpen ? state.startedAt : null,
    checkedAt: at,
    isInCycle: evaluation.isInCycle,
  }
  const from = state.progress.state
  const change = from === progress.state ? null : { from, to: progress.state, at, value }
  if (!(await saveAlertState(tx, after, change))) return null
  if (notice) {
    await putNotices(tx, {
      event: notice,
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

/** Whether storing the evaluation would change anything but the time of the last check. */
export function changesSomething({ state, reading, isInCycle, ...time }: Evaluation): boolean {
  if (state.isInCycle !== isInCycle) return true
  const { progress } = nextAlertState(state.progress, reading, time)
  return progress.state !== state.progress.state || progress.heldMs !== state.progress.heldMs
}

/**
 * Removes an alert. One that goes away while it fires has ended firing: it owes its receivers a resolved notice, or
 * their incidents stay open. Returns whether it did. A paused one sends nothing.
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
    await putNotices(tx, { event, alert, appEnvName, value: null, before: state, after, nowMs, url })
  }
  await removeAlert(tx, alert)
  return owes
}

async function putNotices(
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
  const notice = alertNotice({
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
  const told = event === 'resolved' ? await contactPointsToldOf(tx, alert.alertId, firingOrdinal) : []
  for (const contactPointId of new Set([...alert.contactPointIds, ...told])) {
    await insertNotice(
      tx,
      {
        contactPointId,
        alertId: alert.alertId,
        appEnvId: alert.appEnvId,
        ordinal: event === 'firing' ? firingOrdinal : firingOrdinal + 1,
        dedupKey: `${alert.alertId}-${episode}`,
        notice,
      },
      nowMs,
    )
  }
}
