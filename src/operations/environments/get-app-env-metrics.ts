import { getAppEnvMetrics } from '../../contract/measurements.ts'
import type { Metric } from '../../contract/metrics.ts'
import type { MetricPoint } from '../../metrics/source.ts'
import { listLivePods } from '../../store/repositories/rollouts.ts'
import { handler } from '../core/handler.ts'
import { containerCounts } from './responses.ts'

/** A container's latest sample counts as current when it is at most this many periods old. */
const freshPeriods = 3
/** Requests are counted over this many periods: a minute. */
const ingressPeriods = 6
const leastIngressMs = 5_000

export default handler(getAppEnvMetrics, async ({ tx, now, metrics }, _input, { environment, app }) => {
  const { appEnvId } = environment
  const toMs = Date.parse(now)
  const over = async (metric: Metric, rangeMs: number): Promise<MetricPoint | null> => {
    const range = {
      appEnvId,
      metric,
      fromMs: toMs - rangeMs,
      toMs,
      stepMs: rangeMs,
      includesNow: true as const,
    }
    return (await metrics.series(range)).at(-1) ?? null
  }
  const latest = async (metric: Metric) =>
    rounded((await over(metric, freshPeriods * metrics.periodMs))?.last ?? 0)
  const lately = async (metric: Metric) =>
    rounded((await over(metric, Math.max(leastIngressMs, ingressPeriods * metrics.periodMs)))?.value ?? 0)
  const pods = await listLivePods(tx, appEnvId)
  const running = pods.filter((pod) => pod.status === 'Running')
  const resources = app.isFunction
    ? null
    : {
        cpu: {
          allocatedMillicores: running.reduce((sum, pod) => sum + pod.cpuMillicores, 0),
          usedMillicores: await latest('cpu_usage'),
          percent: await latest('cpu_percent'),
        },
        memory: {
          allocatedMb: running.reduce((sum, pod) => sum + pod.memoryMb, 0),
          usedMb: await latest('memory_usage'),
          percent: await latest('memory_percent'),
        },
      }
  return {
    answer: {
      appEnvId,
      timestamp: now,
      resources,
      containers: containerCounts(environment, app, pods),
      ingress: {
        requestRate: await lately('ingress_request_rate'),
        rate4xx: await lately('ingress_4xx_rate'),
        rate5xx: await lately('ingress_5xx_rate'),
        p95LatencySeconds: await lately('ingress_p95_latency'),
        p99LatencySeconds: await lately('ingress_p99_latency'),
      },
    },
  }
})

function rounded(value: number): number {
  return Number(value.toPrecision(6))
}
