import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addCounts, bucketOf, bucketValueMs, Histogram } from '../../../src/metrics/histogram.ts'
import { LatencyCounts } from '../../../src/metrics/latency-counts.ts'

describe('histogram of response times', () => {
  it('stands for every value with at most 2% error', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 3_600_000, noNaN: true }), (ms) => {
        expect(Math.abs(bucketValueMs(bucketOf(ms)) - ms) / ms).toBeLessThanOrEqual(0.0200001)
      }),
    )
    expect(bucketValueMs(bucketOf(0))).toBe(0.01)
  })

  it('gives quantiles over samples that were drained apart', () => {
    const histogram = new Histogram()
    const all = {}
    for (let ms = 1; ms <= 1000; ms++) {
      histogram.add(ms)
      if (ms % 100 === 0) addCounts(all, histogram.drain())
    }
    expect(histogram.drain()).toEqual({})
    const latency = new LatencyCounts()
    expect(latency.quantileSeconds(0.5)).toBe(0)
    latency.addCounts(all)
    expect(latency.quantileSeconds(0.95) / 0.95).toBeCloseTo(1, 1)
    expect(latency.quantileSeconds(0.5) / 0.5).toBeCloseTo(1, 1)
  })
})
