import { expect, it } from 'vitest'
import { type Clock, every, systemClock } from '../../src/clock.ts'
import { TestClock } from '../../testkit/fakes/clock.ts'

/** Hands out what is due instead of running it. */
class HandClock implements Clock {
  readonly due: (() => unknown)[] = []
  wallMs = () => 0
  monotonicMs = () => 0
  after(_delayMs: number, task: () => unknown) {
    this.due.push(task)
    return () => void this.due.splice(this.due.indexOf(task), 1)
  }
  runNext = () => this.due.shift()!()
}

it('a periodic task continues after a run that threw, and the error is not swallowed', async () => {
  const clock = new HandClock()
  let runs = 0
  const cancel = every(clock, 10, () => {
    runs += 1
    if (runs === 1) throw new Error('a bug')
  })
  await expect(clock.runNext()).rejects.toThrow('a bug')
  await clock.runNext()
  expect(runs).toBe(2)
  cancel()
  expect(clock.due).toEqual([])
})

it('runs never overlap, and a run that is canceled in progress is the last one', async () => {
  const clock = new HandClock()
  let end: () => void = () => {}
  const cancel = every(clock, 10, () => new Promise<void>((resolve) => (end = resolve)))
  const run = clock.runNext()
  expect(clock.due).toEqual([])
  cancel()
  end()
  await run
  expect(clock.due).toEqual([])
})

it('the test clock returns whole milliseconds of wall time, as the system clock does: PostgreSQL rejects fractions', async () => {
  const clock = new TestClock()
  const seen: number[] = []
  for (const delayMs of [0.25, 1.5]) clock.after(delayMs, () => seen.push(clock.wallMs()))
  const start = clock.wallMs()
  await clock.advance(10)
  expect(seen).toEqual([start, start + 1])
  expect(clock.wallMs()).toBe(start + 10)
})

it('the system clock never runs a task before its delay is over', async () => {
  const early: number[] = []
  const tasks = Array.from({ length: 400 }, (_, index) => {
    const delayMs = 1 + index * 0.13
    const dueMs = systemClock.monotonicMs() + delayMs
    return new Promise<void>((resolve) => {
      systemClock.after(delayMs, () => {
        const missingMs = dueMs - systemClock.monotonicMs()
        if (missingMs > 0) early.push(missingMs)
        resolve()
      })
    })
  })
  await Promise.all(tasks)
  expect(early).toEqual([])
})
