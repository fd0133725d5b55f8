import type { Alert } from '../../contract/alerts.ts'
import { isMet, spanMs } from './alert.ts'
import type { Reading } from './state.ts'

/** One step of a series from the metric source. */
export interface SeriesPoint {
  t: number
  value: number
  min: number
  max: number
  last: number
}

/** One value for a query range (2.7 Aggregation), across containers and time. Null without a sample. */
export function aggregate(
  aggregation: Alert['aggregation'],
  points: readonly SeriesPoint[],
  from = 0,
  to = points.length,
): number | null {
  if (from >= to) return null
  switch (aggregation) {
    case 'mean': {
      let sum = 0
      for (let index = from; index < to; index += 1) sum += points[index]!.value
      return sum / (to - from)
    }
    case 'max': {
      let most = Number.NEGATIVE_INFINITY
      for (let index = from; index < to; index += 1) most = Math.max(most, points[index]!.max)
      return most
    }
    case 'min': {
      let least = Number.POSITIVE_INFINITY
      for (let index = from; index < to; index += 1) least = Math.min(least, points[index]!.min)
      return least
    }
    case 'last':
      return points[to - 1]!.last
  }
}

/** The input of the state machine for a value; null means that nothing was measured. */
export function readingOf(rule: Pick<Alert, 'operator' | 'threshold'>, value: number | null): Reading {
  return value === null || !Number.isFinite(value)
    ? { kind: 'no-data' }
    : { kind: 'value', value, isMet: isMet(rule, value) }
}

/**
 * How far back to read, in milliseconds of the clock. A step of this length yields one point, correctly weighted by
 * the source. At least two samples, however fast the clock runs.
 */
export function queryRangeMs(
  rule: Pick<Alert, 'queryRange'>,
  pace: { clockScale: number; periodMs: number },
): number {
  return Math.max(spanMs(rule.queryRange) / pace.clockScale, 2 * pace.periodMs)
}
