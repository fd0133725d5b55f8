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

/** Plays an alert over stored values, evaluating once a step (contract.md 11, Preview). Stretches follow each other. */
export function previewAlert(
  rule: Pick<Alert, 'operator' | 'threshold' | 'duration' | 'aggregation' | 'queryRange'>,
  stretches: readonly StoredStretch[],
  clockScale: number,
): AlertPreview {
  const points = stretches.flatMap((stretch) => stretch.points)
  const rangeMs = spanMs(rule.queryRange) / clockScale
  const durationMs = spanMs(rule.duration) / clockScale
  const wouldHaveFired: AlertPreview['wouldHaveFired'] = []
  let progress = newAlertProgress
  let [from, to, evaluations, withoutData] = [0, 0, 0, 0]
  for (const { fromMs, toMs, stepMs } of stretches) {
    for (let at = fromMs + stepMs; at <= toMs; at += stepMs) {
      while (to < points.length && points[to]!.t <= at) to += 1
      while (from < to && points[from]!.t <= at - rangeMs) from += 1
      const value = aggregate(rule.aggregation, points, from, to)
      const step = nextAlertState(progress, readingOf(rule, value), { sinceMs: stepMs, durationMs })
      progress = step.progress
      evaluations += 1
      if (value === null) withoutData += 1
      else if (step.notice === 'firing') wouldHaveFired.push({ at: new Date(at).toISOString(), value })
    }
  }
  const noDataShare = evaluations === 0 ? 1 : Number((withoutData / evaluations).toFixed(4))
  return { samples: points.length, wouldHaveFired, noDataShare }
}
