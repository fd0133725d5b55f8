import type { Alert } from '../contract/alerts.ts'
import { spanMs } from './alert.ts'
import { aggregate, readingOf, type SeriesPoint } from './alert-reading.ts'
import { newAlertProgress, nextAlertState } from './alert-state.ts'

export interface AlertPreview {
  /** Measured steps that were looked at. */
  samples: number
  wouldHaveFired: { at: string; value: number }[]
  /** Share of the evaluations that would have found nothing measured, 0 to 1. */
  noDataShare: number
}

/** A stretch of stored values of one fineness. */
export interface StoredStretch {
  fromMs: number
  toMs: number
  stepMs: number
  points: readonly SeriesPoint[]
}

/** When a preview evaluates within a stretch: at the end of each step. */
export function* evaluationsOf({ fromMs, toMs, stepMs }: Omit<StoredStretch, 'points'>): Generator<number> {
  for (let at = fromMs + stepMs; at <= toMs; at += stepMs) yield at
}

/**
 * Plays an alert over stored values, evaluating once a step (contract.md 11, Preview). Stretches follow each other.
 * `exact` holds what the evaluator would have read, where that was asked for; elsewhere the samples are combined
 * as if each weighed the same.
 */
export function previewAlert(
  rule: Pick<Alert, 'operator' | 'threshold' | 'duration' | 'aggregation' | 'queryRange'>,
  stretches: readonly StoredStretch[],
  clockScale: number,
  exact: ReadonlyMap<number, number | null> = new Map(),
): AlertPreview {
  const points = stretches.flatMap((stretch) => stretch.points)
  const rangeMs = spanMs(rule.queryRange) / clockScale
  const durationMs = spanMs(rule.duration) / clockScale
  const wouldHaveFired: AlertPreview['wouldHaveFired'] = []
  let progress = newAlertProgress
  let [from, to, evaluations, withoutData] = [0, 0, 0, 0]
  for (const stretch of stretches) {
    for (const at of evaluationsOf(stretch)) {
      while (to < points.length && points[to]!.t <= at) to += 1
      while (from < to && points[from]!.t <= at - rangeMs) from += 1
      const known = exact.get(at)
      const value = known === undefined ? aggregate(rule.aggregation, points, from, to) : known
      const time = { sinceMs: stretch.stepMs, durationMs }
      const step = nextAlertState(progress, readingOf(rule, value), time)
      progress = step.progress
      evaluations += 1
      if (value === null) withoutData += 1
      else if (step.notice === 'firing') wouldHaveFired.push({ at: new Date(at).toISOString(), value })
    }
  }
  const noDataShare = evaluations === 0 ? 1 : Number((withoutData / evaluations).toFixed(4))
  return { samples: points.length, wouldHaveFired, noDataShare }
}
