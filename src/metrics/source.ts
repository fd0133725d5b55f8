import type { Metric } from '../contract/metrics.ts'

/** One step of a series; null values mean that the step has no measurement. */
export interface MetricPoint {
  /** End of the step, milliseconds since the epoch. */
  t: number
  /**
   * Mean across containers and samples of the step. Rates: requests divided by the step's seconds; percentages: share
   * of the requests answered in the step; latencies: percentile of all requests of the step.
   */
  value: number
  /** Lowest and highest sample of the step; for metrics per pod, the lowest and highest container. */
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
  /** At least 10 s (divided by the clock scale). A step as long as the range yields one correctly weighted point. */
  stepMs: number
  /** The last step also includes requests since the last sample, so that recent traffic shows at once. */
  includesNow?: true
}

/**
 * The port to measurements, shared by the series endpoint, the alert evaluator and the autoscaler. Steps without a
 * sample are omitted. For steps without a request, latencies are omitted, and rates and percentages are 0. Throws
 * `AppError('unavailable')` if the source cannot be read.
 */
export interface MetricSource {
  series(query: SeriesQuery): Promise<MetricPoint[]>
}

/** A source with a known sampling period. */
export interface MetricValues extends MetricSource {
  /** Milliseconds between two samples: 10 s divided by the clock scale, at least 250 ms. */
  readonly periodMs: number
}

/** Requests of one environment within a time, as the gateway counted them. */
export interface TrafficCounts {
  requests: number
  /** Answered with a 5xx status. */
  failed: number
  /** The client disconnected after a second or more without the beginning of a response. */
  unanswered: number
}

/** Requests of the last minute, and not before `fromMs`. */
export interface TrafficQuery {
  appEnvId: string
  /** Milliseconds since the epoch. */
  fromMs: number
  toMs: number
}

export const recentTrafficMs = 60_000

/** A source that also has the requests of the last minute. */
export interface MetricReader extends MetricValues {
  /** In the order of the queries; all zero where they are unknown. */
  traffic(queries: readonly TrafficQuery[]): Promise<TrafficCounts[]>
}
