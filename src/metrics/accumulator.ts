import { type Metric, sampledMetrics } from '../contract/metrics.ts'
import { LatencyCounts } from './latency-counts.ts'
import type { MetricPoint } from './source.ts'

interface TrafficCounts {
  seconds: number
  requests: number
  answered: number
  answered4xx: number
  answered5xx: number
}

/** Aggregates one metric over the samples of a step. */
export class Accumulator {
  readonly metric: Metric
  /** Position of the metric among the sampled ones. */
  readonly index: number
  /** Latencies only. */
  readonly latency: LatencyCounts | null
  readonly #isRate: boolean
  #weight = 0
  #sum = 0
  #min = Number.POSITIVE_INFINITY
  #max = Number.NEGATIVE_INFINITY
  #last = 0
  #lastT = Number.NEGATIVE_INFINITY
  #quiet = false

  constructor(metric: Metric) {
    this.metric = metric
    this.index = sampledMetrics.indexOf(metric)
    this.latency = metric.endsWith('_latency') ? new LatencyCounts() : null
    this.#isRate = metric.endsWith('_rate')
  }

  add(value: number, weight: number, min: number, max: number, last: number, t: number): void {
    this.#sum += value * weight
    this.#weight += weight
    if (min < this.#min) this.#min = min
    if (max > this.#max) this.#max = max
    if (t < this.#lastT) return
    this.#last = last
    this.#lastT = t
  }

  /** A period without requests: a rate of 0, but no percentage and no latency. */
  addQuiet(seconds: number, t: number): void {
    if (this.#isRate) this.add(0, seconds, 0, 0, 0, t)
    else this.#quiet = true
  }

  /** A traffic metric of a sample, with its weight in averages. */
  ofTraffic(counts: TrafficCounts): { value: number; weight: number } {
    const { seconds, requests, answered, answered4xx, answered5xx } = counts
    const rate = (count: number) => ({ value: seconds > 0 ? count / seconds : 0, weight: seconds })
    const share = (count: number) => ({
      value: answered > 0 ? (100 * count) / answered : 0,
      weight: answered,
    })
    switch (this.metric) {
      case 'ingress_request_rate':
        return rate(requests)
      case 'ingress_4xx_rate':
        return rate(answered4xx)
      case 'ingress_5xx_rate':
        return rate(answered5xx)
      case 'ingress_4xx_percent':
        return share(answered4xx)
      case 'ingress_5xx_percent':
        return share(answered5xx)
      default:
        return { value: 0, weight: answered }
    }
  }

  /** The point for the step that ends at `t`; null without any sample. */
  point(t: number): MetricPoint | null {
    if (this.#weight === 0) {
      const isZero = this.#quiet && this.latency === null
      return isZero ? { t, value: 0, min: 0, max: 0, last: 0 } : null
    }
    const value = this.latency
      ? this.latency.quantileSeconds(this.metric === 'ingress_p99_latency' ? 0.99 : 0.95)
      : this.#sum / this.#weight
    return { t, value, min: this.#min, max: this.#max, last: this.#last }
  }
}
