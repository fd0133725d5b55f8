import { type BootTime, elapsedMs } from '../boot-clock.ts'
import { isOver, type JobAttempt, type JobRun } from './run.ts'

/** After a run is over, an unstarted container is given up after this long: no scheduler can still be starting it. */
const unstartedLimitMs = 15_000

/**
 * How long to wait for another scheduler that may be starting the container. The start request of a scheduler that
 * died may still be in progress, and a second request at that time could start a short run twice.
 */
const helpAfterMs = 3_000

export interface JobPlanInput {
  run: JobRun
  /** The unfinished attempt; a run has at most one. */
  attempt: JobAttempt | null
  /** Its container in a list that was requested after the attempt was read; null if missing. */
  container: 'created' | 'running' | 'exited' | null
  /** This scheduler is creating the container right now. */
  applying: boolean
  /** For how long this scheduler has seen the container unstarted without creating it itself. */
  unstartedMs: number
  /** Number of other unfinished attempts of the environment. */
  otherAttemptsLive: number
  now: BootTime
}

export type JobStep =
  /** Store the next attempt and create its container. */
  | { do: 'begin' }
  /** Create the container, again if the response was lost: its name makes that idempotent. */
  | { do: 'apply' }
  /** The container runs: store that. */
  | { do: 'acknowledge' }
  | { do: 'stop' }
  /** Store how the container ended; `lost` if it disappeared. */
  | { do: 'end'; lost: boolean }
  /** The container was never started and will not be: remove it if it exists. */
  | { do: 'give-up' }
  | { do: 'time-out' }
  /** Its times are from an earlier boot: count from now on. */
  | { do: 'rebase' }
  /** Check again after this time; null: when something changes. */
  | { do: 'wait'; ms: number | null }

/** The next step of one run. Pure: same input, same step. */
export function planJobRun(input: JobPlanInput): JobStep {
  return input.attempt ? planAttempt(input, input.attempt) : planWithoutAttempt(input)
}

function planAttempt(input: JobPlanInput, attempt: JobAttempt): JobStep {
  const { run, container, applying } = input
  if (container === 'exited') return { do: 'end', lost: false }
  // A container that was acknowledged never comes back under this attempt.
  if (container === null && attempt.state === 'started') return { do: 'end', lost: true }
  if (isOver(run)) {
    if (container === 'running') return { do: 'stop' }
    if (applying) return { do: 'wait', ms: null }
    return input.unstartedMs >= unstartedLimitMs
      ? { do: 'give-up' }
      : { do: 'wait', ms: unstartedLimitMs - input.unstartedMs }
  }
  const left = deadlineLeftMs(run, input.now)
  if (left === 'unknown') return { do: 'rebase' }
  if (left !== null && left <= 0) return { do: 'time-out' }
  if (container !== 'running') {
    const waitMs = helpAfterMs - input.unstartedMs
    if (applying) return { do: 'wait', ms: left }
    return waitMs > 0 ? { do: 'wait', ms: Math.min(waitMs, left ?? waitMs) } : { do: 'apply' }
  }
  if (attempt.state === 'creating') return { do: 'acknowledge' }
  return { do: 'wait', ms: left }
}

function planWithoutAttempt({ run, otherAttemptsLive, now }: JobPlanInput): JobStep {
  if (isOver(run)) return { do: 'wait', ms: null }
  const left = deadlineLeftMs(run, now)
  if (left === 'unknown') return { do: 'rebase' }
  if (left !== null && left <= 0) return { do: 'time-out' }
  if (run.retry) {
    const waited = elapsedMs(run.retry.since, now)
    if (waited === null) return { do: 'rebase' }
    const wait = run.retry.delayMs - waited
    if (wait > 0) return { do: 'wait', ms: left === null ? wait : Math.min(wait, left) }
  }
  if (run.limit !== null && otherAttemptsLive >= run.limit) return { do: 'wait', ms: left }
  return { do: 'begin' }
}

/** Time until the deadline; null before the first container ran. */
function deadlineLeftMs(run: JobRun, now: BootTime): number | null | 'unknown' {
  if (run.began === null) return null
  const elapsed = elapsedMs(run.began, now)
  return elapsed === null ? 'unknown' : run.snapshot.timeoutSeconds * 1_000 - elapsed
}
