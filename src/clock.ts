import { readFileSync } from 'node:fs'
import os from 'node:os'

/** Cancels the timer that returned it; calling it twice is harmless. */
export type Cancel = () => void

/** The one source of time. Timestamps come from `wallMs`, every interval from `monotonicMs` or `after`. */
export interface Clock {
  /** Milliseconds since the epoch; may step. For timestamps only. */
  wallMs(): number
  /** Milliseconds on a clock that never steps. For intervals and deadlines. */
  monotonicMs(): number
  /** Runs `task` once after `delayMs` of monotonic time. */
  after(delayMs: number, task: () => void): Cancel
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, task) {
    // setTimeout overflows to 1 ms above 2^31-1; longer waits are cut and re-checked by level-triggered callers.
    const waitMs = Math.min(Math.max(0, delayMs), 2_147_000_000)
    const dueMs = performance.now() + waitMs
    let timer = setTimeout(run, waitMs)
    // Timers of Node fire up to 1 ms early, and a caller that compares with its deadline would then wait forever.
    function run() {
      if (performance.now() >= dueMs) task()
      else timer = setTimeout(run, 1)
    }
    return () => clearTimeout(timer)
  },
}

/**
 * Runs `task` every `periodMs`, counted from the end of the last run, so that runs never overlap. A task that throws
 * is a bug and becomes an unhandled rejection: it ends the control plane, while the gateway logs it and continues.
 */
export function every(clock: Clock, periodMs: number, task: () => unknown): Cancel {
  let isCanceled = false
  let cancel: Cancel = () => {}
  const run = async () => {
    try {
      await task()
    } finally {
      if (!isCanceled) cancel = clock.after(periodMs, run)
    }
  }
  cancel = clock.after(periodMs, run)
  return () => {
    isCanceled = true
    cancel()
  }
}

/** Resolves after `delayMs`, or at once when `signal` aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const cancel = clock.after(delayMs, done)
    function done() {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    signal?.addEventListener('abort', done, { once: true })
  })
}

/** ISO 8601 UTC with milliseconds (docs/interface.md#identifiers). */
export function timestamp(wallMs: number): string {
  return new Date(wallMs).toISOString()
}

let bootId: string | null = null

/**
 * The time on the machine's boot clock, which never steps and outlives restarts of this program. `clock` names the
 * machine's start: times of two starts cannot be compared.
 */
export function readBootTime(): { clock: string; ms: number } {
  bootId ??= readBootId()
  return { clock: bootId, ms: Math.round(os.uptime() * 1000) }
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Elsewhere the machine's name has to do: after a restart its clock is behind, which shows as well.
    return os.hostname()
  }
}
