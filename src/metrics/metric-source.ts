import type { Metric } from '../contract/metrics.ts'

/** One step of a series; null values mean that nothing was measured in it. */
export interface MetricPoint {
  /** End of the step, milliseconds since the epoch. */
  t: number
  /** Mean across containers and samples of the step. */
  value: number
  min: number
  max: number
  /** Most recent sample of the step. */
  last: number
}

export interface SeriesQuery {
  appEnvId: string
  metric: Metric
  fromMs: number
  toMs: number
  /** At least 10 s (divided by the clock scale). */
  stepMs: number
}

/**
 * The port to measured values: the series endpoint, the alert evaluator and the autoscaler read the same store.
 * Steps without a sample are left out. Throws `AppError('unavailable')` when the source cannot be read.
 */
export interface MetricSource {
  series(query: SeriesQuery): Promise<MetricPoint[]>
}
