import { isDeepStrictEqual } from 'node:util'
import type { StoredAlert } from '../domain/alerts/alert.ts'
import { alertNotification, type EndedBy, episodeIdOf } from '../domain/alerts/notification.ts'
import { isFlapping, nextAlertState, type Reading } from '../domain/alerts/state.ts'
import { newId } from '../domain/ids.ts'
import { conditionOf, newRun } from '../domain/remediation/remediation.ts'
import type { Tx } from '../store/db.ts'
import { removeAlert } from '../store/repositories/alerts.ts'
import { wantAlertMessages } from '../store/repositories/chat-messages.ts'
import { endEpisode, insertRun, listRunsOfEpisode } from '../store/repositories/remediation-runs.ts'
import { listRemediationsOfAlert } from '../store/repositories/remediations.ts'
import { contactPointsOwedTheEnd, dropUnsent } from './announced.ts'
import { insertNotification } from './outbox.ts'
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
  /** How long a flapping alert must be calm. */
  clearMs: number
  nowMs: number
  /** Public URL of the alert; null if the platform has none. */
  url: string | null
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
  if (notification === 'firing') await beginRuns(tx, alert, after, at)
  if (notification === 'resolved') await endEpisode(tx, episodeIdOf(alert.alertId, progress.episode), at)
  if (notification) {
    await putNotifications(tx, {
      event: notification,
      endedBy:
        notification === 'firing' ? null : reading.kind === 'stopped' ? 'environment-stopped' : 'recovered',
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

/** One run of each remediation of the alert, in the transaction that begins the episode. */
async function beginRuns(
  tx: Tx,
  alert: StoredAlert,
  { progress }: StoredAlertState,
  at: string,
): Promise<void> {
  const { alertId, name } = alert
  const seen = {
    episode: episodeIdOf(alertId, progress.episode),
    name,
    startedAt: at,
    condition: conditionOf(alert),
  }
  for (const remediation of await listRemediationsOfAlert(tx, alertId))
    await insertRun(tx, newRun(remediation, seen, at))
}

/** Whether storing the evaluation would change anything besides the time of the last check. */
export function changesSomething({ state, reading, isInCycle, ...time }: Evaluation): boolean {
  if (state.isInCycle !== isInCycle) return true
  const { progress } = nextAlertState(state.progress, reading, time)
  return !isDeepStrictEqual(progress, state.progress)
}

interface EndedAlert {
  alert: StoredAlert
  appEnvName: string
  nowMs: number
  url: string | null
}

/** Removes an alert and closes its open episode wherever it was announced. Returns the contact points that get the end. */
export async function endAlert(
  tx: Tx,
  of: EndedAlert & { endedBy: 'alert-deleted' | 'environment-deleted' },
): Promise<string[]> {
  const { alert, nowMs } = of
  const state = (await findAlertStates(tx, [alert.alertId])).get(alert.alertId)
  const owed = state?.progress.isOpen ? await putEnds(tx, { ...of, state }) : []
  if (!alert.enabled) await dropUnsent(tx, alert.alertId, new Date(nowMs).toISOString())
  await removeAlert(tx, alert.alertId)
  return owed
}

/** Closes an open episode at contact points that the alert no longer notifies. Returns those that get the end. */
export async function endForContactPoints(
  tx: Tx,
  of: EndedAlert & { state: StoredAlertState; contactPointIds: readonly string[] },
): Promise<string[]> {
  return putEnds(tx, { ...of, endedBy: 'contact-point-removed' })
}

async function putEnds(
  tx: Tx,
  of: EndedAlert & { state: StoredAlertState; endedBy: EndedBy; contactPointIds?: readonly string[] },
): Promise<string[]> {
  const { state } = of
  const after = { ...state, progress: { ...state.progress, state: 'Normal' as const, isOpen: false } }
  return putNotifications(tx, { ...of, event: 'resolved', value: null, before: state, after })
}

/**
 * A beginning goes to the contact points of the alert; an end to those that it was announced to and that have no end
 * yet, so that each receiver gets both once. Returns the contact points.
 */
async function putNotifications(
  tx: Tx,
  of: EndedAlert & {
    event: 'firing' | 'resolved'
    endedBy: EndedBy | null
    /** Absent: all. */
    contactPointIds?: readonly string[]
    value: number | null
    before: StoredAlertState
    after: StoredAlertState
  },
): Promise<string[]> {
  const { event, alert, before, after, nowMs } = of
  const { episode } = after.progress
  const firingOrdinal = episode * 2
  const episodeId = episodeIdOf(alert.alertId, episode)
  const [run] = await listRunsOfEpisode(tx, episodeId)
  const notification = alertNotification({
    ...{
      event,
      alert,
      episodeId,
      appEnvName: of.appEnvName,
      value: of.value,
      url: of.url,
      endedBy: of.endedBy,
      remediationRunId: run?.runId ?? null,
    },
    eventId: newId('evt'),
    state: after.progress.state,
    previousState: before.progress.state,
    startedAt: after.startedAt ?? before.startedAt ?? new Date(nowMs).toISOString(),
    flapping: isFlapping(event === 'firing' ? after.progress : before.progress),
  })
  const all =
    event === 'firing'
      ? alert.contactPointIds
      : await contactPointsOwedTheEnd(tx, alert.alertId, firingOrdinal)
  const to = of.contactPointIds ? all.filter((id) => of.contactPointIds?.includes(id)) : all
  const ordinal = event === 'firing' ? firingOrdinal : firingOrdinal + 1
  const { alertId, appEnvId } = alert
  for (const contactPointId of to) {
    const row = { contactPointId, alertId, appEnvId, ordinal, dedupKey: episodeId, notification }
    await insertNotification(tx, row, nowMs)
  }
  // The end at a removed contact point is not the end of the episode.
  if (!of.contactPointIds) await wantAlertMessages(tx, notification, nowMs)
  return to
}
