import { isIngressMetric, type Metric } from '../../contract/metrics.ts'
import { isBurst } from '../../domain/diagnosis/errors.ts'
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
    recentP95Seconds: await recentP95(metrics, appEnvId, toMs, collected('ingress_p95_latency')),
  }
}

/** What has just begun is a small part of a longer time. */
const justNowMs = 20_000

async function recentP95(
  metrics: Sources['metrics'],
  appEnvId: string,
  toMs: number,
  isCollected: boolean,
): Promise<number | null> {
  if (!isCollected) return null
  const rangeMs = Math.min(justNowMs, 2 * metrics.periodMs)
  const shared = { appEnvId, metric: 'ingress_p95_latency', includesNow: true } as const
  const points = await metrics.series({ ...shared, fromMs: toMs - rangeMs, toMs, stepMs: rangeMs })
  return points.at(-1)?.value ?? null
}

/**
 * Requests of the last minute to the version that takes them since `sinceMs`, and of the last 20 s: `traffic` is the one
 * with a burst of errors, if only one has.
 */
export async function loadTraffic(
  { now }: Pick<Context, 'now'>,
  metrics: Sources['metrics'],
  appEnvId: string,
  sinceMs: number,
): Promise<{ traffic: TrafficFacts; recentTraffic: TrafficFacts | null }> {
  const toMs = Date.parse(now)
  const starts = [recentTrafficMs, justNowMs].map((ms) => Math.max(sinceMs, toMs - ms))
  const counts = await metrics.traffic(starts.map((fromMs) => ({ appEnvId, fromMs, toMs })))
  const [minute, recent] = starts.map((fromMs, index) => ({
    seconds: (toMs - fromMs) / 1_000,
    ...counts[index]!,
  }))
  const traffic = isBurst(recent!) && !isBurst(minute!) ? recent! : minute!
  return { traffic, recentTraffic: recent!.requests > 0 ? recent! : null }
}
