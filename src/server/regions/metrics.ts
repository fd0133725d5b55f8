import type { Clock } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import { workloadName } from '../../domain/environments/cluster-names.ts'
import { PrometheusClient } from '../../metrics/prometheus/client.ts'
import type { PrometheusTarget } from '../../metrics/prometheus/queries.ts'
import { PrometheusMetrics } from '../../metrics/prometheus/source.ts'
import type {
  MetricPoint,
  MetricReader,
  MetricSource,
  SeriesQuery,
  TrafficCounts,
  TrafficQuery,
} from '../../metrics/source.ts'
import type { MetricStore } from '../../metrics/store.ts'
import { namespaceOf } from '../../regions/kubernetes/manifests/workload.ts'
import type { Db } from '../../store/db.ts'
import { listEnvironmentNamesIn } from '../../store/repositories/environments-in-regions.ts'

const placesKeptMs = 5_000
const noRequests = { requests: 0, failed: 0 }

interface RegionMetricsDeps {
  config: Config
  db: Db
  clock: Clock
  /** Samples of this machine. */
  metrics: MetricStore
}

interface Place {
  target: PrometheusTarget
  /** Null for a cluster without Prometheus, which has no measurements. */
  source: MetricSource | null
}

/** The measurements of every region: samples of this machine, and the Prometheus of each cluster. */
export function regionMetrics(platform: RegionMetricsDeps): MetricReader {
  const { config, metrics } = platform
  return config.regions.some(({ cluster }) => cluster) ? new RegionMetrics(platform) : metrics
}

class RegionMetrics implements MetricReader {
  readonly #platform: RegionMetricsDeps
  readonly #sources: ReadonlyMap<string, MetricSource | null>
  #places: Promise<Map<string, Place>> = Promise.resolve(new Map())
  #readAtMs = Number.NEGATIVE_INFINITY

  constructor(platform: RegionMetricsDeps) {
    this.#platform = platform
    const source = (url: string) =>
      new PrometheusMetrics({
        client: new PrometheusClient(url),
        periodMs: platform.metrics.periodMs,
        targetsOf: async () => new Map([...(await this.#places)].map(([id, { target }]) => [id, target])),
      })
    this.#sources = new Map(
      platform.config.regions.flatMap(({ region, cluster }) =>
        cluster ? [[region, cluster.prometheus ? source(cluster.prometheus) : null]] : [],
      ),
    )
  }

  get periodMs(): number {
    return this.#platform.metrics.periodMs
  }

  async series(query: SeriesQuery): Promise<MetricPoint[]> {
    const place = (await this.#current()).get(query.appEnvId)
    if (!place) return this.#platform.metrics.series(query)
    return place.source ? place.source.series(query) : []
  }

  /** If Prometheus has no answer, no request counts: the value is one of many hints. */
  async traffic(queries: readonly TrafficQuery[]): Promise<TrafficCounts[]> {
    const places = await this.#current()
    const local = queries.filter(({ appEnvId }) => !places.has(appEnvId))
    const counted = await this.#platform.metrics.traffic(local)
    const byId = new Map(local.map(({ appEnvId }, index) => [appEnvId, counted[index]]))
    return Promise.all(
      queries.map(async (query) => {
        const own = byId.get(query.appEnvId)
        return own ?? { ...(await this.#trafficIn(query).catch(() => noRequests)), unanswered: 0 }
      }),
    )
  }

  async #trafficIn({ appEnvId, fromMs, toMs }: TrafficQuery) {
    const count = async (metric: 'ingress_request_rate' | 'ingress_5xx_rate') => {
      const points = await this.series({ appEnvId, metric, fromMs, toMs, stepMs: toMs - fromMs })
      return Math.round(((points[0]?.value ?? 0) * (toMs - fromMs)) / 1_000)
    }
    const [requests, failed] = await Promise.all([count('ingress_request_rate'), count('ingress_5xx_rate')])
    return { requests, failed }
  }

  /** The regions of environments that serve in clusters, as last read. */
  #current(): Promise<Map<string, Place>> {
    const { clock } = this.#platform
    if (clock.monotonicMs() - this.#readAtMs > placesKeptMs) {
      // One read for all queries that begin now, so that they go on together and share their queries to Prometheus.
      this.#readAtMs = clock.monotonicMs()
      this.#places = this.#read()
      this.#places.catch(() => {
        this.#readAtMs = Number.NEGATIVE_INFINITY
      })
    }
    return this.#places
  }

  async #read(): Promise<Map<string, Place>> {
    const { db, config } = this.#platform
    const clusters = new Map(config.regions.map(({ region, cluster }) => [region, cluster]))
    const names = await db.read((tx) => listEnvironmentNamesIn(tx, [...this.#sources.keys()]))
    return new Map(
      names.flatMap(({ appEnvId, accountId, region, envName }) => {
        const cluster = clusters.get(region)
        if (!cluster) return []
        const target = { namespace: namespaceOf(cluster, accountId), workload: workloadName(envName) }
        return [[appEnvId, { target, source: this.#sources.get(region) ?? null }]]
      }),
    )
  }
}
