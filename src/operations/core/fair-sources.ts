import { yieldAlone } from '../../pacer.ts'
import type { Db } from '../../store/db.ts'
import type { AfterRead, Sources } from './handler.ts'

/** For work after a transaction, whatever operation it belongs to: the calls of accounts alternate. */
export function fairSources(deps: { db: Db; sources: Sources }, of?: string): Omit<AfterRead, 'rehearse'> {
  const { logs, metrics, prober } = deps.sources
  const pause = () => yieldAlone(of)
  return {
    pause,
    read: (work) => pause().then(() => deps.db.read(work)),
    logs: { read: (appEnvId, query) => pause().then(() => logs.read(appEnvId, query, of)) },
    metrics: {
      periodMs: metrics.periodMs,
      series: (query) => pause().then(() => metrics.series(query)),
      traffic: (queries) => pause().then(() => metrics.traffic(queries)),
    },
    prober: { probe: (order) => pause().then(() => prober.probe(order)) },
  }
}
