import { isOver, type JobAttempt, type JobRun } from './job-run.ts'
import { elapsedMs, type Moment } from './moment.ts'

/** How long the container of a run that is over may stay unstarted before nobody can be starting it any more. */
export const settleMs = 15_000

/**
 * How long a container that this scheduler is not making is left to whoever may be making it. A start that was asked
 * for by a scheduler that died may still be under way: asked for again just then, a short run could be started twice.
 */
export const helpAfterMs = 3_000

export interface JobPlanInput {
  run: JobRun
  /** The attempt that has not ended; a run has at most one. */
  attempt: JobAttempt | null
  /** Its container in a list asked for after the attempt was read; null when it is not in it. */
  container: 'created' | 'running' | 'exited' | null
  /** This scheduler is making the container right now. */
  applying: boolean
  /** For how long this scheduler has seen that the container is not started and not made by itself. */
  unstartedMs: number
  /** Other attempts of the environment that have not ended. */
  othersLive: number
  now: Moment
}

export type JobStep =
  /** Write the next attempt down and make its container. */
  | { do: 'begin' }
  /** Make the container, again if the answer was lost: its name makes that harmless. */
  | { do: 'apply' }
  /** The container runs: write that down. */
  | { do: 'acknowledge' }
  | { do: 'stop' }
  /** Write down how the container ended; `lost` when it vanished. */
  | { do: 'end'; lost: boolean }
  /** The container was never started and will not be: remove whatever there is. */
  | { do: 'give-up' }
  | { do: 'time-out' }
  /** Its times are on the clock of an earlier start of the machine: count from now on. */
  | { do: 'rebase' }
  /** Look again after so long; null: when something changes. */
  | { do: 'wait'; ms: number | null }

/** What to do next for one run. Pure: same input, same step. */
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
    return input.unstartedMs >= settleMs
      ? { do: 'give-up' }
      : { do: 'wait', ms: settleMs - input.unstartedMs }
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

function planWithoutAttempt({ run, othersLive, now }: JobPlanInput): JobStep {
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
  if (run.limit !== null && othersLive >= run.limit) return { do: 'wait', ms: left }
  return { do: 'begin' }
}

/** Until the deadline; null before the first container ran. */
function deadlineLeftMs(run: JobRun, now: Moment): number | null | 'unknown' {
  if (run.began === null) return null
  const elapsed = elapsedMs(run.began, now)
  return elapsed === null ? 'unknown' : run.snapshot.timeoutSeconds * 1_000 - elapsed
}
