import type { Metric } from '../contract/metrics.ts'

/** One step of a series; null values mean that nothing was measured in it. */
export interface MetricPoint {
  /** End of the step, milliseconds since the epoch. */
  t: number
  /**
   * Mean across containers and samples of the step. Rates: requests over the step's seconds; percentages: of all
   * requests answered in the step; latencies: the percentile of all of them.
   */
  value: number
  /** Lowest and highest sample of the step; metrics per pod: the lowest and highest container. */
  min: number
  max: number
  /** Most recent sample of the step. */
  last: number
}

export interface SeriesQuery {
  appEnvId: string
  metric: Metric
  /** The first step begins here (exclusive). */
  fromMs: number
  toMs: number
  /** At least 10 s (divided by the clock scale). A step as long as the range yields one point, weighted rightly. */
  stepMs: number
}

/**
 * The port to measured values: the series endpoint, the alert evaluator and the autoscaler read the same store.
 * Steps without a sample are left out; so are steps without a request from latencies, while rates and
 * percentages are then 0. Throws `AppError('unavailable')` when the source cannot be read.
 */
export interface MetricSource {
  series(query: SeriesQuery): Promise<MetricPoint[]>
}

/** A source that knows how often it measures. */
export interface MeasuredValues extends MetricSource {
  /** Milliseconds between two samples: 10 s divided by the clock scale, at least 250 ms. */
  readonly periodMs: number
}
