import { isIngressMetric, type Metric } from '../../contract/metrics.ts'
import type { MetricFacts, TrafficFacts } from '../../domain/diagnosis/facts.ts'
import { recentTrafficMs } from '../../metrics/source.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Context, Sources } from '../core/handler.ts'

/** Five minutes of samples. */
const periods = 30

export async function loadMetricFacts(
  { now }: Context,
  metrics: Sources['metrics'],
  { environment, app }: EnvironmentTarget,
): Promise<MetricFacts> {
  const toMs = Date.parse(now)
  const rangeMs = periods * metrics.periodMs
  const { appEnvId } = environment
  const collected = (metric: Metric) => {
    if (app.isJob) return false
    return isIngressMetric(metric) ? !app.isDatabase : !app.isFunction
  }
  const read = async (metric: Metric, stepMs: number) => {
    if (!collected(metric)) return []
    const range = { appEnvId, metric, fromMs: toMs - rangeMs, toMs, stepMs, includesNow: true as const }
    return await metrics.series(range)
  }
  const over = async (metric: Metric) => (await read(metric, rangeMs)).at(-1)?.value ?? null
  return {
    p95Seconds: await over('ingress_p95_latency'),
    p99Seconds: await over('ingress_p99_latency'),
    cpuPercent: await over('cpu_percent'),
    memoryPercent: await over('memory_percent'),
    resourceSamples: (await read('cpu_percent', metrics.periodMs)).length,
  }
}

/** Requests of the last minute to the version that takes them since `sinceMs`. */
export async function loadTraffic(
  { now }: Context,
  metrics: Sources['metrics'],
  appEnvId: string,
  sinceMs: number,
): Promise<TrafficFacts> {
  const toMs = Date.parse(now)
  const fromMs = Math.max(sinceMs, toMs - recentTrafficMs)
  const [counts] = await metrics.traffic([{ appEnvId, fromMs, toMs }])
  return { seconds: (toMs - fromMs) / 1_000, ...counts! }
}
