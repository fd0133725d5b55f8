import { expect, it } from 'vitest'
import { Worker, type WorkerOptions } from '../../src/worker.ts'
import { TestClock } from '../../testkit/fakes/clock.ts'

/** A worker whose passes end when the test says so. */
function start(options: Partial<WorkerOptions> = {}) {
  const clock = new TestClock()
  const errors: unknown[] = []
  const ends: { resolve: () => void; reject: (error: Error) => void }[] = []
  let passes = 0
  const worker = new Worker({
    clock,
    pass: () => {
      passes += 1
      return new Promise<void>((resolve, reject) => ends.push({ resolve, reject }))
    },
    failed: (error) => void errors.push(error),
    random: () => 0,
    ...options,
  })
  const end = async () => {
    ends.shift()!.resolve()
    await tick()
  }
  const fail = async (error = new Error('away')) => {
    ends.shift()!.reject(error)
    await tick()
  }
  return { clock, worker, errors, end, fail, passes: () => passes }
}

const tick = () => new Promise((resolve) => setImmediate(resolve))

it('makes one pass at a time, and exactly one more when woken during a pass', async () => {
  const { worker, end, passes } = start()
  worker.wake()
  for (let wakes = 0; wakes < 5; wakes++) worker.wake()
  expect(passes()).toBe(1)
  await end()
  expect(passes()).toBe(2)
  await end()
  expect(passes()).toBe(2)
})

it('makes one more pass when the pass itself wakes it before its first wait', async () => {
  let passes = 0
  let under = 0
  let most = 0
  const { worker } = start({
    async pass() {
      most = Math.max(most, ++under)
      if (++passes === 1) worker.wake()
      await tick()
      under -= 1
    },
  })
  worker.wake()
  await worker.settled()
  expect({ passes, most }).toEqual({ passes: 2, most: 1 })
})

it('begins a pass at once when woken, and settles when nothing is left to do', async () => {
  const { worker, end, passes } = start()
  await worker.settled()
  worker.wake()
  expect(passes()).toBe(1)
  let settled = false
  void worker.settled().then(() => {
    settled = true
  })
  worker.wake()
  await end()
  expect(settled).toBe(false)
  await end()
  expect(settled).toBe(true)
})

it('counts the interval from the end of a pass, whatever led to it', async () => {
  const { clock, worker, end, passes } = start({ everyMs: 1_000 })
  worker.start()
  await clock.advance(999)
  expect(passes()).toBe(0)
  await clock.advance(1)
  expect(passes()).toBe(1)
  await clock.advance(5_000)
  await end()
  await clock.advance(600)
  worker.wake()
  await end()
  await clock.advance(999)
  expect(passes()).toBe(2)
  await clock.advance(1)
  expect(passes()).toBe(3)
})

it('makes no pass by itself before it is started', async () => {
  const { clock, worker, end, passes } = start({ everyMs: 1_000 })
  worker.wake()
  await end()
  await clock.advance(10_000)
  expect(passes()).toBe(1)
})

it('keeps its interval after a pass that failed, and reports each failure', async () => {
  const { clock, worker, fail, passes, errors } = start({ everyMs: 1_000 })
  worker.start()
  for (let turn = 1; turn <= 3; turn++) {
    await clock.advance(1_000)
    expect(passes()).toBe(turn)
    await fail(new Error(`away ${turn}`))
  }
  expect(errors.map(String)).toEqual(['Error: away 1', 'Error: away 2', 'Error: away 3'])
})

it('tries again by itself after a failure, later each time up to a limit, and at once when woken', async () => {
  const { clock, worker, end, fail, passes } = start({ retryMs: 2_000, longestRetryMs: 6_000 })
  worker.wake()
  let expected = 1
  for (const delayMs of [2_000, 4_000, 6_000, 6_000]) {
    await fail()
    await clock.advance(delayMs - 1)
    expect(passes()).toBe(expected)
    await clock.advance(1)
    expect(passes()).toBe(++expected)
  }
  await fail()
  worker.wake()
  expect(passes()).toBe(++expected)
  // A pass that succeeds resets the delays; the pending retry still runs once.
  await end()
  await clock.advance(6_000)
  expect(passes()).toBe(++expected)
  await fail()
  await clock.advance(2_000)
  expect(passes()).toBe(++expected)
})

it('spreads retries by a quarter of the delay', async () => {
  const { clock, worker, fail, passes } = start({ retryMs: 2_000, random: () => 1 })
  worker.wake()
  await fail()
  await clock.advance(1_499)
  expect(passes()).toBe(1)
  await clock.advance(1)
  expect(passes()).toBe(2)
})

it('reports a pass that throws before its first wait, and goes on', async () => {
  let passes = 0
  const { clock, worker, errors } = start({
    retryMs: 100,
    pass() {
      if (++passes === 1) throw new Error('a bug')
    },
  })
  worker.wake()
  await worker.settled()
  await clock.advance(100)
  expect({ passes, errors: errors.length }).toEqual({ passes: 2, errors: 1 })
})

it('keeps the earliest of the requested wake times', async () => {
  const { clock, worker, end, passes } = start()
  worker.wakeWithin(5_000)
  worker.wakeWithin(1_000)
  worker.wakeWithin(3_000)
  await clock.advance(1_000)
  expect(passes()).toBe(1)
  await end()
  await clock.advance(10_000)
  expect(passes()).toBe(1)
})

it('stops after the pass under way: no more passes from wakes, timers or failures', async () => {
  const { clock, worker, fail, passes } = start({ everyMs: 1_000 })
  worker.start()
  worker.wake()
  worker.wake()
  worker.wakeWithin(10)
  let stopped = false
  const stop = worker.stop().then(() => {
    stopped = true
  })
  await tick()
  expect(stopped).toBe(false)
  expect(worker.stopped).toBe(true)
  await fail()
  await stop
  worker.wake()
  worker.wakeWithin(10)
  await clock.advance(60_000)
  expect(passes()).toBe(1)
})
