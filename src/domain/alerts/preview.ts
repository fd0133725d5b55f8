import type { Alert } from '../../contract/alerts.ts'
import { spanMs } from './alert.ts'
import { aggregate, readingOf, type SeriesPoint } from './reading.ts'
import { clearMsOf, newAlertProgress, nextAlertState } from './state.ts'

export interface AlertPreview {
  /** Number of steps with measurements. */
  samples: number
  wouldHaveFired: { at: string; value: number }[]
  /** Share of the evaluations without data, 0 to 1. */
  noDataShare: number
}

/** Stored values of one resolution, over a contiguous range. */
export interface StoredChunk {
  fromMs: number
  toMs: number
  stepMs: number
  points: readonly SeriesPoint[]
}

/** The times of evaluation within a chunk: the end of each step. */
export function* evaluationsOf({ fromMs, toMs, stepMs }: Omit<StoredChunk, 'points'>): Generator<number> {
  for (let at = fromMs + stepMs; at <= toMs; at += stepMs) yield at
}

/**
 * Replays an alert over stored values, step by step (docs/interface.md#alert-preview). Chunks are in order. `exact`
 * has the values the evaluator would have read, for the times that were loaded exactly; elsewhere the samples are
 * aggregated with equal weights.
 */
export function previewAlert(
  rule: Pick<Alert, 'operator' | 'threshold' | 'duration' | 'aggregation' | 'queryRange'>,
  chunks: readonly StoredChunk[],
  clockScale: number,
  exact: ReadonlyMap<number, number | null> = new Map(),
): AlertPreview {
  const points = chunks.flatMap((chunk) => chunk.points)
  const rangeMs = spanMs(rule.queryRange) / clockScale
  const durationMs = spanMs(rule.duration) / clockScale
  const clearMs = clearMsOf(spanMs(rule.duration)) / clockScale
  const wouldHaveFired: AlertPreview['wouldHaveFired'] = []
  let progress = newAlertProgress
  let [from, to, evaluations, withoutData] = [0, 0, 0, 0]
  for (const chunk of chunks) {
    for (const at of evaluationsOf(chunk)) {
      while (to < points.length && points[to]!.t <= at) to += 1
      while (from < to && points[from]!.t <= at - rangeMs) from += 1
      const known = exact.get(at)
      const value = known === undefined ? aggregate(rule.aggregation, points, from, to) : known
      const time = { sinceMs: chunk.stepMs, durationMs, clearMs }
      const before = progress.state
      progress = nextAlertState(progress, readingOf(rule, value), time).progress
      evaluations += 1
      if (value === null) withoutData += 1
      else if (before === 'Pending' && progress.state === 'Firing')
        wouldHaveFired.push({ at: new Date(at).toISOString(), value })
    }
  }
  const noDataShare = evaluations === 0 ? 1 : Number((withoutData / evaluations).toFixed(4))
  return { samples: points.length, wouldHaveFired, noDataShare }
}
