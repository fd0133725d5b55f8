import { isIngressMetric, type Metric } from '../../contract/metrics.ts'
import type { MetricFacts } from '../../domain/diagnosis/facts.ts'
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
    seconds: ((await read('ingress_request_rate', metrics.periodMs)).length * metrics.periodMs) / 1_000,
    requestRate: await over('ingress_request_rate'),
    rate5xx: await over('ingress_5xx_rate'),
    percent5xx: await over('ingress_5xx_percent'),
    p95Seconds: await over('ingress_p95_latency'),
    p99Seconds: await over('ingress_p99_latency'),
    cpuPercent: await over('cpu_percent'),
    memoryPercent: await over('memory_percent'),
    resourceSamples: (await read('cpu_percent', metrics.periodMs)).length,
  }
}
