import type { AlertState } from '../contract/alerts.ts'

/** What one evaluation found: a value, nothing measured, or a source that could not be read. */
export type Reading =
  | { kind: 'value'; value: number; isMet: boolean }
  | { kind: 'no-data' }
  | { kind: 'error' }

/** Where an alert stands. Survives restarts as it is. */
export interface AlertProgress {
  state: AlertState
  /** How long the condition was seen to hold, in milliseconds of monotonic time between evaluations. */
  heldMs: number
  /** Counts firings; names an episode together with the alert's id. */
  episode: number
  /** A firing notice of this episode went out, its resolved notice did not. */
  isOpen: boolean
}

export const newAlertProgress: AlertProgress = { state: 'Normal', heldMs: 0, episode: 0, isOpen: false }

export interface AlertStep {
  progress: AlertProgress
  /** The notice this step owes; at most one of each kind an episode. */
  notice: 'firing' | 'resolved' | null
}

/**
 * The alert after one evaluation (interface.md 3.2). `sinceMs` is the monotonic time since the evaluation before,
 * 0 when that is not known (after a restart, on a refresh): time nobody watched never makes an alert fire.
 *
 * - Not met: Normal. Met: Pending until it held for `durationMs`, then Firing.
 * - No data: NoData; the wait begins anew, and an open episode ends, for Firing has ended.
 * - Error: nothing is known, so nothing ends: an open episode stays open and a wait stands still.
 */
export function nextAlertState(
  before: AlertProgress,
  reading: Reading,
  time: { sinceMs: number; durationMs: number },
): AlertStep {
  if (reading.kind === 'error') return { progress: { ...before, state: 'Error' }, notice: null }
  if (reading.kind === 'no-data') return ended(before, 'NoData')
  if (!reading.isMet) return ended(before, 'Normal')
  if (before.isOpen) return { progress: { ...before, state: 'Firing' }, notice: null }
  const heldMs = before.state === 'Pending' ? before.heldMs + Math.max(0, time.sinceMs) : before.heldMs
  if (before.state === 'Pending' && heldMs >= time.durationMs) {
    const progress: AlertProgress = {
      state: 'Firing',
      heldMs: 0,
      episode: before.episode + 1,
      isOpen: true,
    }
    return { progress, notice: 'firing' }
  }
  return { progress: { ...before, state: 'Pending', heldMs }, notice: null }
}

function ended(before: AlertProgress, state: 'Normal' | 'NoData'): AlertStep {
  return {
    progress: { ...before, state, heldMs: 0, isOpen: false },
    notice: before.isOpen ? 'resolved' : null,
  }
}
