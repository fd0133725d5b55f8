import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type ContainerRun,
  diskUsage,
  hourMs,
  knownEnd,
  mergeHours,
  secondsWithin,
  usageByHour,
} from '../../../src/domain/environments/usage.ts'

const startMs = Date.UTC(2026, 6, 1)
const longAfterMs = startMs + 1_000 * hourMs

function run(fromSeconds: number, toSeconds: number | null, zClouds = 1, rateMultiplier = 1): ContainerRun {
  return {
    zClouds,
    rateMultiplier,
    startedMs: startMs + fromSeconds * 1_000,
    finishedMs: toSeconds === null ? null : startMs + toSeconds * 1_000,
  }
}

const always = { fromMs: 0, toMs: longAfterMs, nowMs: longAfterMs }

describe('billing (F1, F4)', () => {
  it('F4 bills zCloud-seconds, a function three times', () => {
    expect(usageByHour([run(10, 100, 4, 3)], always)).toEqual([
      { hourMs: startMs, containerSeconds: 90, zCloudSeconds: 360, billedZCloudSeconds: 1_080 },
    ])
  })

  it('F1 has no hour in which nothing ran', () => {
    const hours = usageByHour([run(0, 60), run(5 * 3_600, 5 * 3_600 + 60)], always)
    expect(hours.map((hour) => (hour.hourMs - startMs) / hourMs)).toEqual([0, 5])
  })

  it('bills a container that still runs up to now, and not beyond the range', () => {
    const open = run(0, null)
    expect(usageByHour([open], { ...always, nowMs: startMs + 7_250_000 })).toMatchObject([
      { containerSeconds: 3_600 },
      { containerSeconds: 3_600 },
      { containerSeconds: 50 },
    ])
    const range = { fromMs: startMs + 30_000, toMs: startMs + 45_000, nowMs: longAfterMs }
    expect(usageByHour([open], range)).toMatchObject([{ containerSeconds: 15 }])
  })

  it('ends a run that was last seen more than a minute ago when it was seen', () => {
    const open = { startedMs: startMs, finishedMs: null }
    const seenMs = startMs + 20_000
    expect(knownEnd(open, seenMs, seenMs + 600_000)).toBeNull()
    expect(knownEnd(open, seenMs, seenMs + 600_001)).toBe(seenMs)
    expect(knownEnd({ ...open, startedMs: seenMs + 1 }, seenMs, longAfterMs)).toBe(seenMs + 1)
    expect(knownEnd({ ...open, finishedMs: seenMs + 2 }, seenMs, longAfterMs)).toBe(seenMs + 2)
    expect(knownEnd(open, 0, longAfterMs), 'never seen').toBeNull()
  })

  it('is the same wherever a run is cut, and never more than a second off', () => {
    const ms = fc.integer({ min: 0, max: 20 * hourMs })
    fc.assert(
      fc.property(
        fc.array(fc.tuple(ms, ms), { maxLength: 8 }),
        fc.array(ms, { maxLength: 5 }),
        (spans, cuts) => {
          const runs = spans.map(([a, b]) => ({
            zClouds: 2,
            rateMultiplier: 3,
            startedMs: startMs + Math.min(a, b),
            finishedMs: startMs + Math.max(a, b),
          }))
          const edges = [startMs, ...cuts.map((cut) => startMs + cut).sort((a, b) => a - b), longAfterMs]
          const pieces = edges
            .slice(1)
            .map((toMs, index) => usageByHour(runs, { fromMs: edges[index]!, toMs, nowMs: longAfterMs }))
          const whole = usageByHour(runs, { fromMs: startMs, toMs: longAfterMs, nowMs: longAfterMs })
          expect(mergeHours(...pieces)).toEqual(whole)
          const billed = whole.reduce((sum, hour) => sum + hour.containerSeconds, 0)
          const exact = runs.reduce((sum, one) => sum + one.finishedMs - one.startedMs, 0) / 1_000
          expect(Math.abs(billed - exact)).toBeLessThanOrEqual(runs.length)
          for (const hour of whole) {
            expect(hour.zCloudSeconds).toBe(hour.containerSeconds * 2)
            expect(hour.billedZCloudSeconds).toBe(hour.containerSeconds * 6)
          }
        },
      ),
    )
  })

  it('counts between whole seconds of the clock', () => {
    const one = { zClouds: 1, rateMultiplier: 1, startedMs: startMs + 900, finishedMs: startMs + 1_100 }
    expect(secondsWithin(one, 0, longAfterMs, longAfterMs)).toBe(1)
    expect(
      secondsWithin({ ...one, startedMs: startMs + 100, finishedMs: startMs + 900 }, 0, longAfterMs, 0),
    ).toBe(0)
  })

  it('charges disk above 5120 MB for each zCloud, of databases only', () => {
    expect(diskUsage(2, 12_000, true)).toEqual({ includedDiskMb: 10_240, overageDiskMb: 1_760 })
    expect(diskUsage(2, 10_240, true)).toEqual({ includedDiskMb: 10_240, overageDiskMb: 0 })
    expect(diskUsage(1, 12_000, false)).toEqual({ includedDiskMb: 5_120, overageDiskMb: 0 })
  })
})
