import { describe, expect, it } from 'vitest'
import { isMet, thresholdWarnings } from '../../../src/domain/alerts/alert.ts'
import { retryDelayMs } from '../../../src/domain/alerts/notification.ts'
import { aggregate } from '../../../src/domain/alerts/reading.ts'

describe('aggregation (2.7)', () => {
  const points = [
    { t: 1, value: 10, min: 5, max: 20, last: 7 },
    { t: 2, value: 20, min: 8, max: 30, last: 9 },
  ]
  it.each([
    ['mean', 15],
    ['max', 30],
    ['min', 5],
    ['last', 9],
  ] as const)('%s over the range is %d', (aggregation, value) => {
    expect(aggregate(aggregation, points)).toBe(value)
    expect(aggregate(aggregation, [])).toBeNull()
  })

  it('compares strictly', () => {
    expect(isMet({ operator: 'gt', threshold: 5 }, 5)).toBe(false)
    expect(isMet({ operator: 'lt', threshold: 5 }, 5)).toBe(false)
    expect(isMet({ operator: 'gt', threshold: 5 }, 5.1)).toBe(true)
    expect(isMet({ operator: 'lt', threshold: 5 }, 4.9)).toBe(true)
  })
})

describe('implausible thresholds', () => {
  it.each([
    ['cpu_usage', 'gt', 80, '80 millicores, 0.08 of a core'],
    ['memory_usage_per_pod', 'gt', 80, '80 MB'],
    ['ingress_p95_latency', 'gt', 2000, 'If milliseconds were meant, send 2'],
    ['ingress_5xx_percent', 'gt', 0.05, 'not 5 %'],
    ['ingress_5xx_percent', 'gt', 100, 'never fires'],
    ['cpu_percent', 'lt', 0, 'never fires'],
    ['cpu_percent', 'gt', 150, 'never fires where the engine holds CPU at its limit'],
    ['memory_percent', 'gt', 101, 'never above 100 %'],
    ['cpu_usage', 'gt', 80, 'The default of cpu_usage is above 500 millicores.'],
    ['ingress_5xx_rate', 'gt', -1, 'always fires'],
  ] as const)('%s %s %d is warned about', (metric, operator, threshold, said) => {
    expect(thresholdWarnings({ metric, operator, threshold }).join(' ')).toContain(said)
  })

  it('are measured against what the environment may use', () => {
    const size = { cpuMillicores: 500, memoryMb: 512 }
    const rule = { metric: 'cpu_usage', operator: 'gt', threshold: 600 } as const
    expect(thresholdWarnings(rule, size).join(' ')).toContain('limit is 500')
    expect(thresholdWarnings({ ...rule, threshold: 400 }, size)).toEqual([])
  })

  it('do not include plausible ones', () => {
    for (const [metric, threshold] of [
      ['cpu_percent', 80],
      ['cpu_usage', 500],
      ['ingress_p95_latency', 2],
      ['ingress_request_rate', 1000],
      ['ingress_5xx_percent', 5],
    ] as const) {
      expect(thresholdWarnings({ metric, operator: 'gt', threshold })).toEqual([])
    }
  })
})

describe('the retry schedule of notifications', () => {
  it('doubles from 5 s to 10 minutes, half of it random', () => {
    const delays = [1, 2, 3, 8, 100].map((attempts) => retryDelayMs({ attempts, random: 1 }))
    expect(delays).toEqual([5_000, 10_000, 20_000, 600_000, 600_000])
    expect(retryDelayMs({ attempts: 1, random: 0 })).toBe(2_500)
  })
})
