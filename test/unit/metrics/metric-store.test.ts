import { readdirSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Metric, sampledMetrics } from '../../../src/contract/metrics.ts'
import type { Sample } from '../../../src/metrics/sample.ts'
import {
  container,
  hourMs,
  minuteMs,
  newDir,
  openStore,
  over,
  periodMs,
  run,
  sample,
  startMs,
  traffic,
  uneven,
} from '../../../testkit/metrics/samples.ts'

describe('the fifteen metrics (2.7)', () => {
  it('combines CPU and memory over containers, and tells the busiest and the idlest', async () => {
    const store = await openStore()
    await store.append(startMs + periodMs, [sample([container(400, 128), container(100, 384)])])
    const read = (metric: Metric) => over(store, metric, startMs, startMs + periodMs)
    expect(await read('cpu_usage')).toMatchObject({ value: 500, min: 500, max: 500, last: 500 })
    expect(await read('cpu_percent')).toMatchObject({ value: 50, min: 50, max: 50 })
    expect(await read('memory_usage')).toMatchObject({ value: 512 })
    expect(await read('memory_percent')).toMatchObject({ value: 50 })
    expect(await read('cpu_usage_per_pod')).toMatchObject({ value: 250, min: 100, max: 400, last: 250 })
    expect(await read('cpu_percent_per_pod')).toMatchObject({ value: 50, min: 20, max: 80 })
    expect(await read('memory_usage_per_pod')).toMatchObject({ value: 256, min: 128, max: 384 })
    expect(await read('memory_percent_per_pod')).toMatchObject({ value: 50, min: 25, max: 75 })
  })

  it('weighs rates by time and percentages by requests', async () => {
    const store = await openStore()
    await store.append(startMs + periodMs, [sample([], traffic(Array(100).fill(5), 10, 20))])
    await store.append(startMs + 2 * periodMs, [sample([], traffic([5], 0, 1))])
    await store.append(startMs + 3 * periodMs, [sample([], traffic([]))])
    const read = (metric: Metric) => over(store, metric, startMs, startMs + 3 * periodMs)
    const rate = await read('ingress_request_rate')
    expect(rate?.value).toBeCloseTo(101 / 30, 5)
    expect(rate).toMatchObject({ min: 0, max: 10, last: 0 })
    expect((await read('ingress_5xx_rate'))?.value).toBeCloseTo(21 / 30, 5)
    expect((await read('ingress_4xx_rate'))?.value).toBeCloseTo(10 / 30, 5)
    const percent = await read('ingress_5xx_percent')
    expect(percent?.value).toBeCloseTo((100 * 21) / 101, 5)
    expect(percent).toMatchObject({ min: 20, max: 100, last: 100 })
    expect((await read('ingress_4xx_percent'))?.value).toBeCloseTo((100 * 10) / 101, 5)
  })

  it('has zero rates and percentages, but no latency, where no request came', async () => {
    const store = await openStore()
    await store.append(startMs + periodMs, [sample([], traffic([]))])
    const read = (metric: Metric) => over(store, metric, startMs, startMs + periodMs)
    expect(await read('ingress_request_rate')).toMatchObject({ value: 0 })
    expect(await read('ingress_5xx_percent')).toMatchObject({ value: 0, max: 0 })
    expect(await read('ingress_p95_latency')).toBeNull()
    expect(await read('cpu_percent')).toBeNull()
  })

  it('omits steps without measurements', async () => {
    const store = await openStore()
    await store.append(startMs + periodMs, [sample([container(10, 10)])])
    await store.append(startMs + 3 * periodMs, [sample([container(30, 10)])])
    const query = { appEnvId: 'env_a', metric: 'cpu_usage' as const, stepMs: periodMs }
    const points = await store.series({ ...query, fromMs: startMs, toMs: startMs + 4 * periodMs })
    expect(points.map(({ t, value }) => [t, value])).toEqual([
      [startMs + periodMs, 10],
      [startMs + 3 * periodMs, 30],
    ])
  })

  it('gives percentiles within 2% of the exact ones, over any number of samples', async () => {
    const latencies = fc.array(fc.double({ min: 0.05, max: 60_000, noNaN: true }), {
      minLength: 1,
      maxLength: 60,
    })
    await fc.assert(
      fc.asyncProperty(fc.array(latencies, { minLength: 1, maxLength: 6 }), async (samples) => {
        const store = await openStore()
        for (const [index, some] of samples.entries()) {
          await store.append(startMs + (index + 1) * periodMs, [sample([], traffic(some))])
        }
        const all = samples.flat().sort((a, b) => a - b)
        const toMs = startMs + samples.length * periodMs
        for (const [metric, share] of [
          ['ingress_p95_latency', 0.95],
          ['ingress_p99_latency', 0.99],
        ] as const) {
          const exact = all[Math.max(0, Math.ceil(share * all.length - 1e-9) - 1)]! / 1_000
          const point = await over(store, metric, startMs, toMs)
          expect(Math.abs(point!.value - exact) / exact).toBeLessThanOrEqual(0.0201)
        }
      }),
      { numRuns: 40 },
    )
  })
})

describe('downsampled records', () => {
  it('keep mean, minimum, maximum, counts and percentiles of the samples of each five minutes', async () => {
    const fine = await openStore()
    await run(fine, 600, uneven)
    const coarse = await openStore()
    await run(coarse, 600, uneven)
    // Ten hours on, the samples are gone from memory and only merged records are left.
    await coarse.append(startMs + 12 * hourMs, [])
    await coarse.append(startMs + 12 * hourMs + periodMs, [])
    expect(coarse.memoryBytes).toBe(0)
    for (const metric of sampledMetrics) {
      const query = {
        appEnvId: 'env_a',
        metric,
        fromMs: startMs,
        toMs: startMs + 95 * minuteMs,
        stepMs: 5 * minuteMs,
      }
      const before = await fine.series(query)
      const after = await coarse.series(query)
      expect(before.length).toBe(19)
      expect(after.map(({ t }) => t)).toEqual(before.map(({ t }) => t))
      for (const [index, point] of before.entries()) {
        for (const part of ['value', 'min', 'max', 'last'] as const) {
          expect(after[index]![part], `${metric} ${part} ${index}`).toBeCloseTo(point[part], 2)
        }
      }
    }
  })

  it('any mix of samples reads the same after merging', async () => {
    const oneSample = fc.record({
      containers: fc.array(fc.tuple(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 512 })), {
        maxLength: 3,
      }),
      latencies: fc.option(fc.array(fc.integer({ min: 1, max: 5_000 }), { maxLength: 5 }), { nil: null }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(oneSample, { minLength: 30, maxLength: 60 }), async (made) => {
        const make = (turn: number): Sample[] => {
          const one = made[turn - 1]!
          const ingress = one.latencies && traffic(one.latencies, 0, Math.min(1, one.latencies.length))
          return [
            sample(
              one.containers.map(([cpu, memory]) => container(cpu, memory)),
              ingress,
            ),
          ]
        }
        const fine = await openStore()
        await run(fine, made.length, make)
        const coarse = await openStore()
        await run(coarse, made.length, make)
        await coarse.append(startMs + 12 * hourMs, [])
        await coarse.append(startMs + 12 * hourMs + periodMs, [])
        for (const metric of sampledMetrics) {
          const query = {
            appEnvId: 'env_a',
            metric,
            fromMs: startMs,
            toMs: startMs + 10 * minuteMs,
            stepMs: 5 * minuteMs,
          }
          const [before, after] = [await fine.series(query), await coarse.series(query)]
          expect(after.length, metric).toBe(before.length)
          for (const [index, point] of before.entries()) {
            for (const part of ['value', 'min', 'max', 'last'] as const) {
              const near =
                Math.abs(after[index]![part] - point[part]) <= 1e-4 * Math.max(1, Math.abs(point[part]))
              expect(near, `${metric} ${part}: ${point[part]} became ${after[index]![part]}`).toBe(true)
            }
          }
        }
      }),
      { numRuns: 15 },
    )
  }, 60_000)

  it('keeps two hours at 10 s, a day at one minute, a week at five, and then drops', async () => {
    const dir = newDir()
    const store = await openStore(dir)
    const days = 10
    // One sample in five minutes, to be quick.
    const periods = (days * 24 * hourMs) / periodMs
    for (let period = 30; period <= periods; period += 30) {
      await store.append(startMs + period * periodMs, [sample([container(100, 100)])])
    }
    const endMs = startMs + periods * periodMs
    const count = async (fromMs: number, toMs: number) =>
      (await store.series({ appEnvId: 'env_a', metric: 'cpu_usage', fromMs, toMs, stepMs: 5 * minuteMs }))
        .length
    expect(await count(endMs - 2 * hourMs, endMs)).toBe(24)
    expect(await count(endMs - 24 * hourMs, endMs)).toBe(288)
    expect(await count(endMs - 7 * 24 * hourMs, endMs)).toBe(2_016)
    expect(await count(startMs - 1, endMs - 9 * 24 * hourMs)).toBe(0)
    const files = readdirSync(path.join(dir, '10000ms', 'env', 'env_a'))
    expect(files.length).toBeLessThanOrEqual(10)
    expect(readdirSync(path.join(dir, '10000ms')).length).toBeLessThanOrEqual(16)
    expect(store.memoryBytes).toBeLessThan(64 * 1024)
  }, 60_000)
})
