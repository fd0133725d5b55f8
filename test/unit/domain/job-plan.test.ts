import { describe, expect, it } from 'vitest'
import { type JobPlanInput, planJobRun } from '../../../src/domain/jobs/plan.ts'
import { type JobAttempt, type JobRun, runAfterAttempt } from '../../../src/domain/jobs/run.ts'

const now = { clock: 'this boot', ms: 100_000 }

function plan(run: Partial<JobRun>, attempt: Partial<JobAttempt> | null, rest: Partial<JobPlanInput> = {}) {
  return planJobRun({
    run: {
      status: 'RUNNING',
      snapshot: { timeoutSeconds: 60 },
      began: null,
      retry: null,
      limit: 1,
      ...run,
    } as JobRun,
    attempt: attempt && ({ state: 'started', ...attempt } as JobAttempt),
    container: null,
    applying: false,
    unstartedMs: 0,
    otherAttemptsLive: 0,
    now,
    ...rest,
  })
}

/** How long a run waits for its next attempt after so many failed. */
function delayAfter(attempt: number, clockScale = 1): number | undefined {
  const run = { status: 'RUNNING', attempt, snapshot: { backoffLimit: 100 } } as JobRun
  const end = { exitCode: 1, reason: 'Failed', finishedAt: '2026-01-05T00:00:00.000Z' }
  return runAfterAttempt(run, end, now, clockScale).retry?.delayMs
}

describe('what to do next for a job run', () => {
  it('waits 10 s, 20 s, 40 s … 6 min before another attempt, sped up by the clock scale', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 60].map((failed) => delayAfter(failed))).toEqual([
      10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 360_000, 360_000,
    ])
    expect(delayAfter(1, 100)).toBe(100)
    const retry = { since: { ...now, ms: 95_000 }, delayMs: 10_000 }
    expect(plan({ retry }, null)).toEqual({ do: 'wait', ms: 5_000 })
    expect(plan({ retry }, null, { now: { ...now, ms: 105_000 } })).toEqual({ do: 'begin' })
  })

  it('times out on the clock that never steps, and never because the machine started again', () => {
    const running = { container: 'running' } as const
    expect(plan({ began: { ...now, ms: 40_001 } }, {}, running)).toEqual({ do: 'wait', ms: 1 })
    expect(plan({ began: { ...now, ms: 40_000 } }, {}, running)).toEqual({ do: 'time-out' })
    expect(plan({ began: { clock: 'earlier boot', ms: 0 } }, {}, running)).toEqual({ do: 'rebase' })
  })

  it('never makes a container again that was there: an acknowledged one that vanished is lost', () => {
    expect(plan({}, {})).toEqual({ do: 'end', lost: true })
    expect(plan({}, { state: 'creating' }, { unstartedMs: 3_000 })).toEqual({ do: 'apply' })
    expect(plan({}, { state: 'creating' }, { applying: true })).toEqual({ do: 'wait', ms: null })
  })

  it('leaves a container alone that somebody else may be starting: two starts could run a short job twice', () => {
    for (const container of [null, 'created'] as const) {
      expect(plan({}, { state: 'creating' }, { container })).toEqual({ do: 'wait', ms: 3_000 })
      expect(plan({}, { state: 'creating' }, { container, unstartedMs: 2_999 })).toEqual({
        do: 'wait',
        ms: 1,
      })
      expect(plan({}, { state: 'creating' }, { container, unstartedMs: 3_000 })).toEqual({ do: 'apply' })
    }
  })

  it('stops the container of a run that is over, and gives up only when no scheduler can still be starting it', () => {
    const over = { status: 'CANCELED' } as const
    expect(plan(over, {}, { container: 'running' })).toEqual({ do: 'stop' })
    expect(plan(over, { state: 'creating' }, { applying: true, unstartedMs: 60_000 })).toEqual({
      do: 'wait',
      ms: null,
    })
    expect(plan(over, { state: 'creating' })).toEqual({ do: 'wait', ms: 15_000 })
    expect(plan(over, { state: 'creating' }, { unstartedMs: 15_000 })).toEqual({ do: 'give-up' })
    // Made but not started: somebody may be just about to.
    expect(plan(over, { state: 'creating' }, { container: 'created', unstartedMs: 5_000 })).toEqual({
      do: 'wait',
      ms: 10_000,
    })
    expect(plan(over, { state: 'creating' }, { container: 'created', unstartedMs: 15_000 })).toEqual({
      do: 'give-up',
    })
    expect(plan(over, null)).toEqual({ do: 'wait', ms: null })
  })

  it('holds an attempt back while containers of ended runs still fill the limit', () => {
    expect(plan({}, null, { otherAttemptsLive: 1 })).toEqual({ do: 'wait', ms: null })
    expect(plan({ limit: null }, null, { otherAttemptsLive: 9 })).toEqual({ do: 'begin' })
  })
})
