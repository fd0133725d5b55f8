import type { AlertState } from '../../contract/alerts.ts'

/** The result of one evaluation. `stopped`: the environment should not run, so no value will follow. */
export type Reading =
  | { kind: 'value'; value: number; isMet: boolean }
  | { kind: 'no-data' }
  | { kind: 'stopped' }
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
  /** Episodes that no calm of `clearMs` separates. */
  flaps: number
  /** While `flaps` counts: how long the condition has been observed not to hold. */
  calmMs: number
}

export const newAlertProgress: AlertProgress = {
  state: 'Normal',
  heldMs: 0,
  episode: 0,
  isOpen: false,
  flaps: 0,
  calmMs: 0,
}

/** From so many episodes in a row on, an alert is flapping: the last one stays open until it has been calm. */
const flappingFrom = 3
const shortestClearMs = 10 * 60_000

export function isFlapping({ flaps }: Pick<AlertProgress, 'flaps'>): boolean {
  return flaps >= flappingFrom
}

/** How long an alert must be calm to stop flapping, before the clock scale. */
export function clearMsOf(durationMs: number): number {
  return Math.max(shortestClearMs, durationMs)
}

interface AlertStep {
  progress: AlertProgress
  /** The notification to send after this step; at most one of each kind per episode. */
  notification: 'firing' | 'resolved' | null
}

/**
 * The alert after one evaluation (3.2). `sinceMs` is the monotonic time since the previous evaluation, 0 if unknown
 * (after a restart, on a refresh): unobserved time neither makes an alert fire nor counts as calm.
 *
 * - Not met: Normal, and an open episode ends; that of a flapping alert after `clearMs`.
 * - Met: Pending until it has held for `durationMs`, then Firing.
 * - No data: NoData; the waiting time restarts. An open episode stays open: missing data is no recovery.
 * - Stopped: NoData, and an open episode ends.
 * - Error: the value is unknown, so nothing changes: an open episode stays open and the waiting time pauses.
 */
export function nextAlertState(
  before: AlertProgress,
  reading: Reading,
  time: { sinceMs: number; durationMs: number; clearMs: number },
): AlertStep {
  switch (reading.kind) {
    case 'error':
      return { progress: { ...before, state: 'Error' }, notification: null }
    case 'no-data':
      return { progress: { ...before, state: 'NoData', heldMs: 0 }, notification: null }
    case 'stopped':
      return ended({ ...before, flaps: 0, calmMs: 0 }, 'NoData')
    case 'value':
      return reading.isMet ? met(before, time) : unmet(before, time)
  }
}

function met(
  before: AlertProgress,
  { sinceMs, durationMs }: { sinceMs: number; durationMs: number },
): AlertStep {
  const swung = { ...before, calmMs: 0 }
  const isDip = before.state === 'Normal' || before.state === 'Pending'
  if (before.isOpen && !isDip) return { progress: { ...swung, state: 'Firing' }, notification: null }
  const heldMs = before.state === 'Pending' ? before.heldMs + Math.max(0, sinceMs) : before.heldMs
  if (before.state !== 'Pending' || heldMs < durationMs)
    return { progress: { ...swung, state: 'Pending', heldMs }, notification: null }
  if (before.isOpen) return { progress: { ...swung, state: 'Firing', heldMs: 0 }, notification: null }
  const progress: AlertProgress = {
    state: 'Firing',
    heldMs: 0,
    episode: before.episode + 1,
    isOpen: true,
    flaps: before.flaps + 1,
    calmMs: 0,
  }
  return { progress, notification: 'firing' }
}

function unmet(before: AlertProgress, { sinceMs, clearMs }: { sinceMs: number; clearMs: number }): AlertStep {
  if (before.flaps === 0) return ended(before, 'Normal')
  const calmMs = before.calmMs + (before.state === 'Normal' ? Math.max(0, sinceMs) : 0)
  if (calmMs >= clearMs) return ended({ ...before, flaps: 0, calmMs: 0 }, 'Normal')
  const swings = { ...before, calmMs }
  if (!isFlapping(before)) return ended(swings, 'Normal')
  return { progress: { ...swings, state: 'Normal', heldMs: 0 }, notification: null }
}

function ended(before: AlertProgress, state: 'Normal' | 'NoData'): AlertStep {
  return {
    progress: { ...before, state, heldMs: 0, isOpen: false },
    notification: before.isOpen ? 'resolved' : null,
  }
}
