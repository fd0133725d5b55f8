import type { Metric } from '../../contract/metrics.ts'
import { Accumulator } from '../accumulator.ts'
import type { MetricPoint, SeriesQuery } from '../source.ts'
import type { TargetSample } from './samples.ts'

const millicoresPerCore = 1_000
const bytesPerMb = 1024 * 1024

/** One point for each step of the query that has a sample. `sampleMs` is the time between two samples. */
export function pointsOf(
  query: SeriesQuery,
  samples: readonly TargetSample[],
  sampleMs: number,
): MetricPoint[] {
  const { metric, fromMs, toMs, stepMs } = query
  const steps: Step[] = []
  for (const sample of samples) {
    const index = Math.ceil((sample.t - fromMs) / stepMs) - 1
    if (index < 0 || sample.t > toMs) continue
    steps[index] ??= metric.endsWith('_latency') ? new LatencyStep(metric) : new ValueStep(metric, sampleMs)
    steps[index].add(sample)
  }
  return steps.flatMap((step, index) => step?.point(Math.min(toMs, fromMs + (index + 1) * stepMs)) ?? [])
}

interface Step {
  add(sample: TargetSample): void
  point(t: number): MetricPoint | null
}

class ValueStep implements Step {
  readonly #metric: Metric
  readonly #accumulator: Accumulator
  readonly #seconds: number

  constructor(metric: Metric, sampleMs: number) {
    this.#metric = metric
    this.#accumulator = new Accumulator(metric)
    this.#seconds = sampleMs / 1_000
  }

  add({ t, pods, codes }: TargetSample): void {
    if (this.#metric.startsWith('ingress_')) this.#addTraffic(t, codes)
    else if (pods.length > 0) this.#addPods(t, pods)
  }

  point(t: number): MetricPoint | null {
    return this.#accumulator.point(t)
  }

  #addPods(t: number, pods: TargetSample['pods']): void {
    const groups = this.#metric.endsWith('_per_pod') ? pods.map((pod) => [pod]) : [pods]
    const values = groups.map((group) => this.#measure(group))
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    this.#accumulator.add(mean, values.length, Math.min(...values), Math.max(...values), mean, t)
  }

  #measure(pods: TargetSample['pods']): number {
    const used = pods.reduce((sum, pod) => sum + pod.used, 0)
    if (!this.#metric.includes('_percent'))
      return this.#metric.startsWith('cpu_') ? used * millicoresPerCore : used / bytesPerMb
    const limit = pods.reduce((sum, pod) => sum + pod.limit, 0)
    return limit > 0 ? (100 * used) / limit : 0
  }

  #addTraffic(t: number, codes: TargetSample['codes']): void {
    if (codes === null) return
    const requests = { total: 0, '4': 0, '5': 0 }
    for (const [code, rate] of codes) {
      const count = rate * this.#seconds
      requests.total += count
      if (code[0] === '4' || code[0] === '5') requests[code[0]] += count
    }
    const { value, weight } = this.#accumulator.ofTraffic({
      seconds: this.#seconds,
      requests: requests.total,
      answered: requests.total,
      answered4xx: requests['4'],
      answered5xx: requests['5'],
    })
    if (weight === 0) this.#accumulator.addQuiet(this.#seconds, t)
    else this.#accumulator.add(value, weight, value, value, value, t)
  }
}

class LatencyStep implements Step {
  readonly #share: number
  readonly #rates = new Map<number, number>()
  #min = Number.POSITIVE_INFINITY
  #max = Number.NEGATIVE_INFINITY
  #last = 0

  constructor(metric: Metric) {
    this.#share = metric === 'ingress_p99_latency' ? 0.99 : 0.95
  }

  add({ buckets }: TargetSample): void {
    const value = quantile(this.#share, buckets)
    if (value === null) return
    this.#min = Math.min(this.#min, value)
    this.#max = Math.max(this.#max, value)
    this.#last = value
    for (const { le, rate } of buckets) this.#rates.set(le, (this.#rates.get(le) ?? 0) + rate)
  }

  point(t: number): MetricPoint | null {
    const all = [...this.#rates].map(([le, rate]) => ({ le, rate })).sort((a, b) => a.le - b.le)
    const value = quantile(this.#share, all)
    return value === null ? null : { t, value, min: this.#min, max: this.#max, last: this.#last }
  }
}

/**
 * The quantile of a Prometheus histogram in seconds, interpolated within its bucket; null without a request. Above
 * the largest finite bound it is that bound.
 */
function quantile(share: number, buckets: TargetSample['buckets']): number | null {
  const total = buckets.at(-1)?.rate ?? 0
  if (!(total > 0)) return null
  const rank = share * total
  const index = buckets.findIndex(({ rate }) => rate >= rank)
  const below = buckets[index - 1] ?? { le: 0, rate: 0 }
  const { le, rate } = buckets[index]!
  if (le === Number.POSITIVE_INFINITY) return below.le
  return below.le + ((le - below.le) * (rank - below.rate)) / (rate - below.rate)
}
