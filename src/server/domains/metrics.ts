import type {
  MetricPoint,
  MetricReader,
  SeriesQuery,
  TrafficCounts,
  TrafficQuery,
} from '../../metrics/source.ts'
import type { Db } from '../../store/db.ts'
import { listDomainsOf, listServedDomains } from '../../store/repositories/domains.ts'

const dayMs = 86_400_000

/** Measurements, and with them the days until the first certificate of an environment ends, which the store knows. */
export class CertificateMetrics implements MetricReader {
  readonly #others: MetricReader
  readonly #db: Db

  constructor(others: MetricReader, db: Db) {
    this.#others = others
    this.#db = db
  }

  get periodMs(): number {
    return this.#others.periodMs
  }

  traffic(queries: readonly TrafficQuery[]): Promise<TrafficCounts[]> {
    return this.#others.traffic(queries)
  }

  async series(query: SeriesQuery): Promise<MetricPoint[]> {
    if (query.metric !== 'certificate_days_left') return this.#others.series(query)
    const { appEnvId, fromMs, toMs, stepMs } = query
    const domains = await this.#db.read((tx) => listDomainsOf(tx, appEnvId))
    const certificates = domains.flatMap(({ certificate }) => (certificate ? [certificate] : []))
    const steps = Math.floor((toMs - fromMs) / stepMs)
    return Array.from({ length: steps }, (_, index) => fromMs + (index + 1) * stepMs).flatMap((t) => {
      const valid = certificates.filter(({ notBefore }) => Date.parse(notBefore) <= t)
      if (valid.length === 0) return []
      const value = daysLeft(valid, t)
      return [{ t, value, min: value, max: value, last: value }]
    })
  }
}

/** Days until the first of these ends; negative once it has. */
function daysLeft(certificates: readonly { notAfter: string }[], nowMs: number): number {
  return (Math.min(...certificates.map(({ notAfter }) => Date.parse(notAfter))) - nowMs) / dayMs
}

/** For `/metrics`; empty while the store is away. */
export async function certificateDays(db: Db, nowMs: number): Promise<{ appEnvId: string; days: number }[]> {
  const domains = await db.read(listServedDomains).catch(() => [])
  const first = new Map<string, number>()
  for (const { appEnvId, certificate } of domains) {
    if (!certificate) continue
    const days = daysLeft([certificate], nowMs)
    first.set(appEnvId, Math.min(days, first.get(appEnvId) ?? days))
  }
  return [...first].map(([appEnvId, days]) => ({ appEnvId, days }))
}
