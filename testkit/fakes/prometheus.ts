import { AppError } from '../../src/errors.ts'
import type { RangeQuery, RangeSeries } from '../../src/metrics/prometheus/client.ts'

interface FakePod {
  namespace: string
  pod: string
  cores: number
  bytes: number
  cpuLimit: number
  memoryLimit: number
  endsMs: number
}

interface FakeTraffic {
  service: string
  code: string
  /** Requests a second, from when to when. */
  rate: number
  fromMs: number
  toMs: number
  /** Cumulative shares of the requests by upper bound, in seconds. */
  shares: Readonly<Record<string, number>>
}

/**
 * The samples of a cluster's cadvisor and Traefik. Answers the queries of `queryFor`: it reads their metric names and
 * selectors, and evaluates rates as Prometheus would with infinitely short scrapes.
 */
export class FakePrometheus {
  readonly #pods: FakePod[] = []
  readonly #traffic: FakeTraffic[] = []
  readonly queries: RangeQuery[] = []
  isAway = false
  scrapesIngress = true

  /** `cpuLimit` in cores, memory in bytes. */
  addPod(namespace: string, pod: string, values: Partial<FakePod> = {}): void {
    const usual = { cores: 0.25, bytes: 256 * 1024 ** 2, cpuLimit: 0.5, memoryLimit: 512 * 1024 ** 2 }
    this.#pods.push({ namespace, pod, ...usual, endsMs: Number.POSITIVE_INFINITY, ...values })
  }

  addTraffic(service: string, values: Partial<FakeTraffic> = {}): void {
    const usual = { code: '200', rate: 1, fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
    this.#traffic.push({ service, ...usual, shares: { '0.1': 1, '+Inf': 1 }, ...values })
  }

  async range(query: RangeQuery): Promise<RangeSeries[]> {
    this.queries.push(query)
    if (this.isAway) throw new AppError('unavailable', 'Prometheus cannot be read')
    const { promql } = query
    if (promql.includes('container_cpu_usage_seconds_total'))
      return this.#containers(query, ({ cores, cpuLimit }) => [cores, cpuLimit])
    if (promql.includes('container_memory_working_set_bytes'))
      return this.#containers(query, ({ bytes, memoryLimit }) => [bytes, memoryLimit])
    return promql.includes('_bucket') ? this.#latencies(query) : this.#requests(query)
  }

  #containers(query: RangeQuery, valuesOf: (pod: FakePod) => [used: number, limit: number]): RangeSeries[] {
    const namespaces = selector(query.promql, 'namespace')
    const names = selector(query.promql, 'pod')
    return this.#pods
      .filter(({ namespace, pod }) => namespaces.test(namespace) && names.test(pod))
      .flatMap((one) => {
        const { namespace, pod, endsMs } = one
        const [used, limit] = valuesOf(one)
        const line = (of: string, value: number, untilMs: number) => ({
          labels: { namespace, pod, of },
          samples: timesOf(query)
            .filter((t) => t <= untilMs)
            .map((t) => ({ t, value })),
        })
        // A rate outlives its pod by the length of its window.
        return [line('used', used, endsMs + 60_000), line('limit', limit, endsMs)]
      })
  }

  #requests(query: RangeQuery): RangeSeries[] {
    const series = this.#served(query).map(({ service, code, rate, fromMs, toMs }) => ({
      labels: { service, code },
      samples: timesOf(query).map((t) => ({ t, value: t > fromMs && t <= toMs ? rate : 0 })),
    }))
    const scrapes = timesOf(query).map((t) => ({ t, value: 1 }))
    return this.scrapesIngress ? [...series, { labels: { of: 'scraped' }, samples: scrapes }] : series
  }

  #latencies(query: RangeQuery): RangeSeries[] {
    return this.#served(query).flatMap(({ service, rate, fromMs, toMs, shares }) =>
      Object.entries(shares).map(([le, share]) => ({
        labels: { service, le },
        samples: timesOf(query).map((t) => ({ t, value: t > fromMs && t <= toMs ? rate * share : 0 })),
      })),
    )
  }

  #served({ promql }: RangeQuery): FakeTraffic[] {
    const services = selector(promql, 'service')
    return this.#traffic.filter(({ service }) => services.test(service))
  }
}

function timesOf({ startMs, endMs, stepMs }: RangeQuery): number[] {
  const times: number[] = []
  for (let t = startMs; t <= endMs; t += stepMs) times.push(t)
  return times
}

function selector(promql: string, label: string): RegExp {
  const pattern = new RegExp(`${label}=~("(?:[^"\\\\]|\\\\.)*")`).exec(promql)?.[1]
  if (pattern === undefined) throw new Error(`the query does not select by ${label}: ${promql}`)
  return new RegExp(`^(?:${JSON.parse(pattern)})$`)
}
