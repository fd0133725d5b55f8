import { recentTrafficMs, type TrafficCounts, type TrafficQuery } from './source.ts'

/** The gateway reports once a second. */
const reportMs = 1_000

interface Report extends TrafficCounts {
  /** When counting began. */
  fromMs: number
  atMs: number
}

/** The gateway's reports of the last minute, in memory: samples cover too long a time to judge the current state. */
export class RecentTraffic {
  readonly #reports = new Map<string, Report[]>()

  add(appEnvId: string, counts: TrafficCounts, atMs: number, fromMs = atMs - reportMs): void {
    if (counts.requests + counts.failed + counts.unanswered === 0) return
    const kept = (this.#reports.get(appEnvId) ?? []).filter((one) => isWithin(one, atMs))
    this.#reports.set(appEnvId, [...kept, { ...counts, fromMs, atMs }])
  }

  within({ appEnvId, fromMs, toMs }: TrafficQuery): TrafficCounts {
    const sum: TrafficCounts = { requests: 0, failed: 0, unanswered: 0 }
    for (const report of this.#reports.get(appEnvId) ?? []) {
      if (!isWithin(report, toMs) || report.fromMs < fromMs) continue
      for (const key of ['requests', 'failed', 'unanswered'] as const) sum[key] += report[key]
    }
    return sum
  }

  forget(appEnvId: string): void {
    this.#reports.delete(appEnvId)
  }
}

function isWithin({ atMs }: Report, nowMs: number): boolean {
  return atMs > nowMs - recentTrafficMs && atMs <= nowMs
}
