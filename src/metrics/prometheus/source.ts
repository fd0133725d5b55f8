import type { MetricPoint, MetricSource, SeriesQuery } from '../source.ts'
import type { PrometheusClient } from './client.ts'
import { pointsOf } from './points.ts'
import { kindOf, type PrometheusTarget, queryFor, type SampleKind } from './queries.ts'
import { samplesByTarget, type TargetSample, targetKey } from './samples.ts'

/** Samples that one query reads of a series: less than Prometheus's own limit of 11,000. */
const mostSamples = 5_000
/** Samples of a query with few steps, such as that of an alert. */
const usualSamples = 720

interface PrometheusMetricsDeps {
  client: Pick<PrometheusClient, 'range'>
  /** Milliseconds between two samples. */
  periodMs: number
  /** The Prometheus targets of environments; a missing environment has no samples. */
  targetsOf(appEnvIds: readonly string[]): Promise<ReadonlyMap<string, PrometheusTarget>>
}

interface Waiting {
  kind: SampleKind
  query: SeriesQuery
  sampleMs: number
  resolve(points: MetricPoint[]): void
  reject(error: unknown): void
}

/**
 * The fifteen metrics (2.7) from a cluster's Prometheus: cadvisor for CPU and memory, Traefik for requests. Queries
 * for the same time that begin together are one query to Prometheus, whatever the number of environments and of
 * metrics that come from the same samples.
 */
export class PrometheusMetrics implements MetricSource {
  readonly #deps: PrometheusMetricsDeps
  #waiting: Waiting[] = []

  constructor(deps: PrometheusMetricsDeps) {
    this.#deps = deps
  }

  series(query: SeriesQuery): Promise<MetricPoint[]> {
    if (!(query.toMs > query.fromMs)) return Promise.resolve([])
    const sampleMs = sampleMsOf(query, this.#deps.periodMs)
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => void this.#read())
      this.#waiting.push({ kind: kindOf(query.metric), query, sampleMs, resolve, reject })
    })
  }

  async #read(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    try {
      const targets = await this.#deps.targetsOf([...new Set(waiting.map(({ query }) => query.appEnvId))])
      await Promise.all(groupsOf(waiting).map((group) => this.#readGroup(group, targets)))
    } catch (error) {
      for (const one of waiting) one.reject(error)
    }
  }

  async #readGroup(group: readonly Waiting[], targets: ReadonlyMap<string, PrometheusTarget>): Promise<void> {
    const { kind, query, sampleMs } = group[0]!
    const wanted = new Set(group.map((one) => one.query.appEnvId))
    const some = [...wanted].flatMap((appEnvId) => targets.get(appEnvId) ?? [])
    let samples = new Map<string, TargetSample[]>()
    try {
      if (some.length > 0) {
        const { fromMs, toMs } = query
        const range = { startMs: fromMs + sampleMs, endMs: toMs, stepMs: sampleMs }
        const series = await this.#deps.client.range({ promql: queryFor(kind, some), ...range })
        samples = samplesByTarget(kind, some, series)
      }
    } catch (error) {
      for (const one of group) one.reject(error)
      return
    }
    for (const one of group) {
      const target = targets.get(one.query.appEnvId)
      const found = target ? samples.get(targetKey(target)) : undefined
      one.resolve(pointsOf(one.query, found ?? [], sampleMs))
    }
  }
}

/** In whole milliseconds; divides the step, so that each step has the same number of samples. */
function sampleMsOf({ fromMs, toMs, stepMs }: SeriesQuery, periodMs: number): number {
  const most = stepMs >= toMs - fromMs ? usualSamples : mostSamples
  const leastMs = Math.max(periodMs, (toMs - fromMs) / most)
  return Math.floor(stepMs / Math.max(1, Math.floor(stepMs / leastMs)))
}

function groupsOf(waiting: readonly Waiting[]): Waiting[][] {
  const groups = new Map<string, Waiting[]>()
  for (const one of waiting) {
    const key = [one.kind, one.query.fromMs, one.query.toMs, one.sampleMs].join(' ')
    const group = groups.get(key)
    if (group) group.push(one)
    else groups.set(key, [one])
  }
  return [...groups.values()]
}
