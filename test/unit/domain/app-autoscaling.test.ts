import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Autoscaling } from '../../../src/contract/app-envs.ts'
import { decideAppScale, scalingWindowMs, type UsageSample } from '../../../src/domain/apps/autoscaling.ts'

const periodMs = 10_000
const limits = { cpuMillicores: 500, memoryMb: 512 }
const startMs = Date.UTC(2026, 3, 1)
const defaults: Autoscaling = {
  enabled: true,
  minContainers: 1,
  maxContainers: 10,
  targetCpuPercent: 70,
  targetMemoryPercent: null,
  scaleUpWindowSeconds: 0,
  scaleDownWindowSeconds: 300,
}

interface Load {
  /** What the app would use if it could, at a moment in seconds; null: nothing is measured. */
  cpu: (second: number) => number | null
  memory?: (second: number) => number
}

/** Lives through hours of samples as the platform would: usage is capped by what the containers may use. */
function live(
  load: Load,
  options: { seconds: number; settings?: Partial<Autoscaling>; from?: number; clockScale?: number },
) {
  const autoscaling = { ...defaults, ...options.settings }
  const clockScale = options.clockScale ?? 1
  const period = periodMs / clockScale
  const samples: UsageSample[] = []
  const changes: { second: number; containers: number; reason: string | null }[] = []
  let containers = options.from ?? 1
  for (let nowMs = startMs; nowMs <= startMs + options.seconds * 1_000; nowMs += period) {
    const second = (nowMs - startMs) / 1_000
    const wanted = load.cpu(second)
    const cap = containers * limits.cpuMillicores
    if (wanted !== null) {
      const memoryMb = load.memory?.(second) ?? 50
      samples.push({ atMs: nowMs, cpuMillicores: Math.min(wanted, cap), memoryMb })
    }
    const fromMs = nowMs - scalingWindowMs(autoscaling, period, clockScale)
    while (samples[0] && samples[0].atMs < fromMs) samples.shift()
    const decided = decideAppScale({
      nowMs,
      autoscaling,
      containers,
      limits,
      samples,
      periodMs: period,
      clockScale,
    })
    if (decided.containers === containers) continue
    containers = decided.containers
    changes.push({ second, containers, reason: decided.reason })
  }
  return { containers, changes }
}

const hour = 3_600

describe('autoscaling of regular apps', () => {
  it('adds containers as soon as CPU is above its target, until it fits', () => {
    const { containers, changes } = live({ cpu: () => 2_000 }, { seconds: hour })
    // 2000 millicores at 70% of 500 need 5.7 containers; one step sees at most what the containers may use.
    expect(containers).toBe(6)
    expect(changes[0]).toMatchObject({ second: 0, containers: 2, reason: 'CPU 100% of 70%' })
    expect(changes.at(-1)!.second).toBeLessThanOrEqual(60)
  })

  it('takes containers away only after the whole down window is quiet', () => {
    const cpu = (second: number) => (second < 600 ? 1_700 : 100)
    const { changes, containers } = live({ cpu }, { seconds: 2 * hour })
    expect(containers).toBe(1)
    const down = changes.filter((change) => change.second >= 600)
    expect(down).toHaveLength(1)
    expect(down[0]!.second).toBeGreaterThanOrEqual(890)
    expect(down[0]!.second).toBeLessThanOrEqual(920)
  })

  it('waits for the up window, and ignores a shorter peak', () => {
    const settings = { scaleUpWindowSeconds: 120 }
    const peak = (second: number) => (second % 600 < 60 ? 450 : 50)
    expect(live({ cpu: peak }, { seconds: 3 * hour, settings }).changes).toEqual([])
    const steady = live({ cpu: () => 450 }, { seconds: hour, settings })
    expect(steady.changes[0]!.second).toBeGreaterThanOrEqual(90)
    expect(steady.changes[0]!.second).toBeLessThanOrEqual(130)
  })

  it('does not flap under a square wave shorter than the down window', () => {
    const wave = (second: number) => (second % 240 < 120 ? 1_000 : 100)
    const { changes } = live({ cpu: wave }, { seconds: 6 * hour })
    expect(changes.length).toBeLessThanOrEqual(3)
    expect(
      changes.every(({ containers }, index) => index === 0 || containers > changes[index - 1]!.containers),
    ).toBe(true)
  })

  it('does not flap around its target', () => {
    const noise = (second: number) => 350 + 34 * Math.sin(second / 37)
    expect(live({ cpu: noise }, { seconds: 6 * hour }).changes.length).toBeLessThanOrEqual(1)
    const atTwo = (second: number) => 700 + 60 * Math.sin(second / 53)
    expect(live({ cpu: atTwo }, { seconds: 6 * hour, from: 2 }).changes.length).toBeLessThanOrEqual(2)
  })

  it('scales on memory where a target is set, and on the greater of the two', () => {
    const memory = () => 1_200
    const settings = { targetMemoryPercent: 60 }
    expect(live({ cpu: () => 100, memory }, { seconds: hour, settings }).containers).toBe(4)
    expect(live({ cpu: () => 100, memory }, { seconds: hour }).containers).toBe(1)
    expect(live({ cpu: () => 2_000, memory }, { seconds: hour, settings }).containers).toBe(6)
  })

  it('holds without data, and after a gap until the down window is measured again', () => {
    expect(live({ cpu: () => null }, { seconds: hour, from: 5 }).changes).toEqual([])
    const cpu = (second: number) => (second < 1_000 ? 1_700 : second < 4_000 ? null : 50)
    const { changes } = live({ cpu }, { seconds: 3 * hour })
    const after = changes.filter(({ second }) => second >= 1_000)
    expect(after).toHaveLength(1)
    expect(after[0]!.second).toBeGreaterThanOrEqual(4_270)
  })

  it('stays between minimum and maximum, and enforces them immediately', () => {
    const settings = { minContainers: 2, maxContainers: 4 }
    const up = live({ cpu: () => 5_000 }, { seconds: hour, settings, from: 2 })
    expect(up.containers).toBe(4)
    const down = live({ cpu: () => 0 }, { seconds: hour, settings, from: 4 })
    expect(down.containers).toBe(2)
    expect(live({ cpu: () => null }, { seconds: 0, settings, from: 9 }).changes[0]).toMatchObject({
      containers: 4,
      reason: 'kept between 2 and 4 containers',
    })
  })

  it('does nothing while it is off', () => {
    expect(live({ cpu: () => 5_000 }, { seconds: hour, settings: { enabled: false } }).changes).toEqual([])
  })

  it('runs its windows faster under a clock scale', () => {
    const cpu = (second: number) => (second < 60 ? 1_700 : 50)
    const { changes } = live({ cpu }, { seconds: 120, clockScale: 100 })
    const down = changes.find(({ second }) => second >= 60)!
    expect(down.second).toBeGreaterThanOrEqual(62.7)
    expect(down.second).toBeLessThanOrEqual(63.3)
  })

  it('for any load: within bounds, enough for the demand, and the same for the same input', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 30, max: 900 }), fc.integer({ min: 0, max: 4_000 })), {
      minLength: 1,
      maxLength: 12,
    })
    fc.assert(
      fc.property(
        steps,
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 3, max: 10 }),
        (load, least, most) => {
          const ends: number[] = []
          for (const [seconds] of load) ends.push((ends.at(-1) ?? 0) + seconds)
          const cpu = (second: number) => load[ends.findIndex((end) => second < end)]?.[1] ?? load.at(-1)![1]
          const options = {
            seconds: ends.at(-1)! + 1_200,
            settings: { minContainers: least, maxContainers: most },
            from: least,
          }
          const lived = live({ cpu }, options)
          expect(live({ cpu }, options)).toEqual(lived)
          for (const { containers } of lived.changes) {
            expect(containers).toBeGreaterThanOrEqual(least)
            expect(containers).toBeLessThanOrEqual(most)
          }
          // Twenty minutes into the last step it has settled: no more than 10% above the target, not one too many.
          const demand = load.at(-1)![1] / 350
          expect(lived.containers * 1.1 >= demand || lived.containers === most).toBe(true)
          expect(lived.containers).toBeLessThanOrEqual(
            Math.max(least, Math.min(most, Math.max(1, Math.ceil(demand)))),
          )
        },
      ),
      { numRuns: 60 },
    )
  })
})
