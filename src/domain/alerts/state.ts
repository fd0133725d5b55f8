import type { AlertState } from '../../contract/alerts.ts'

/** The result of one evaluation: a value, no data, or a source that could not be read. */
export type Reading =
  | { kind: 'value'; value: number; isMet: boolean }
  | { kind: 'no-data' }
  | { kind: 'error' }

/** The state of an alert. Stored as is, so it survives restarts. */
export interface AlertProgress {
  state: AlertState
  /** How long the condition has been observed to hold, in milliseconds of monotonic time between evaluations. */
  heldMs: number
  /** Counts episodes; with the alert's id it identifies one. */
  episode: number
  /** The firing notification of this episode was sent, the resolved one was not. */
  isOpen: boolean
}

export const newAlertProgress: AlertProgress = { state: 'Normal', heldMs: 0, episode: 0, isOpen: false }

interface AlertStep {
  progress: AlertProgress
  /** The notification to send after this step; at most one of each kind per episode. */
  notification: 'firing' | 'resolved' | null
}

/**
 * The alert after one evaluation (3.2). `sinceMs` is the monotonic time since the previous evaluation, 0 if unknown
 * (after a restart, on a refresh): unobserved time never makes an alert fire.
 *
 * - Not met: Normal. Met: Pending until it has held for `durationMs`, then Firing.
 * - No data: NoData; the waiting time restarts, and an open episode ends because Firing has ended.
 * - Error: the value is unknown, so nothing changes: an open episode stays open and the waiting time pauses.
 */
export function nextAlertState(
  before: AlertProgress,
  reading: Reading,
  time: { sinceMs: number; durationMs: number },
): AlertStep {
  if (reading.kind === 'error') return { progress: { ...before, state: 'Error' }, notification: null }
  if (reading.kind === 'no-data') return ended(before, 'NoData')
  if (!reading.isMet) return ended(before, 'Normal')
  if (before.isOpen) return { progress: { ...before, state: 'Firing' }, notification: null }
  const heldMs = before.state === 'Pending' ? before.heldMs + Math.max(0, time.sinceMs) : before.heldMs
  if (before.state === 'Pending' && heldMs >= time.durationMs) {
    const progress: AlertProgress = {
      state: 'Firing',
      heldMs: 0,
      episode: before.episode + 1,
      isOpen: true,
    }
    return { progress, notification: 'firing' }
  }
  return { progress: { ...before, state: 'Pending', heldMs }, notification: null }
}

function ended(before: AlertProgress, state: 'Normal' | 'NoData'): AlertStep {
  return {
    progress: { ...before, state, heldMs: 0, isOpen: false },
    notification: before.isOpen ? 'resolved' : null,
  }
}
