import { getAppEnvMetrics } from '../../contract/measurements.ts'
import type { Metric } from '../../contract/metrics.ts'
import type { MetricPoint } from '../../metrics/source.ts'
import { listLivePods } from '../../store/repositories/rollouts.ts'
import { handler, type Sources } from '../core/handler.ts'
import { containerCounts } from './responses.ts'

/** A container's latest sample counts as current when it is at most this many periods old. */
const freshPeriods = 3
/** Requests are counted over this many periods: a minute. */
const ingressPeriods = 6
const leastIngressMs = 5_000

const resourceMetrics = ['cpu_usage', 'memory_usage'] as const
const ingressMetrics = [
  'ingress_request_rate',
  'ingress_4xx_rate',
  'ingress_5xx_rate',
  'ingress_p95_latency',
  'ingress_p99_latency',
] as const

type Values = (metric: Metric) => number
const none: Values = () => 0

export default handler(getAppEnvMetrics, async ({ tx, now }, _input, { environment, app }) => {
  const { appEnvId } = environment
  const pods = await listLivePods(tx, appEnvId)
  const running = pods.filter((pod) => pod.status === 'Running')
  const allocatedMillicores = running.reduce((sum, pod) => sum + pod.cpuMillicores, 0)
  const allocatedMb = running.reduce((sum, pod) => sum + pod.memoryMb, 0)
  const answerWith = (latest: Values, lately: Values) => ({
    appEnvId,
    timestamp: now,
    resources: app.isFunction
      ? null
      : {
          cpu: {
            allocatedMillicores,
            usedMillicores: latest('cpu_usage'),
            percent: percentOf(latest('cpu_usage'), allocatedMillicores),
          },
          memory: {
            allocatedMb,
            usedMb: latest('memory_usage'),
            percent: percentOf(latest('memory_usage'), allocatedMb),
          },
        },
    containers: containerCounts(environment, app, pods),
    ingress: {
      requestRate: lately('ingress_request_rate'),
      rate4xx: lately('ingress_4xx_rate'),
      rate5xx: lately('ingress_5xx_rate'),
      p95LatencySeconds: lately('ingress_p95_latency'),
      p99LatencySeconds: lately('ingress_p99_latency'),
    },
  })
  return {
    answer: answerWith(none, none),
    afterRead: async (_answer, { metrics }) => {
      const { periodMs } = metrics
      const query = { appEnvId, toMs: Date.parse(now) }
      const resources = app.isFunction ? [] : resourceMetrics
      const latest = await readPoints(metrics, query, resources, freshPeriods * periodMs)
      const ingressMs = Math.max(leastIngressMs, ingressPeriods * periodMs)
      const lately = await readPoints(metrics, query, ingressMetrics, ingressMs)
      return answerWith(
        (metric) => rounded(latest.get(metric)?.last ?? 0),
        (metric) => rounded(lately.get(metric)?.value ?? 0),
      )
    },
  }
})

/** One point for each metric, over the whole range. */
async function readPoints(
  metrics: Sources['metrics'],
  { appEnvId, toMs }: { appEnvId: string; toMs: number },
  wanted: readonly Metric[],
  rangeMs: number,
): Promise<Map<Metric, MetricPoint | undefined>> {
  const found = new Map<Metric, MetricPoint | undefined>()
  for (const metric of wanted) {
    const range = { appEnvId, metric, fromMs: toMs - rangeMs, toMs, stepMs: rangeMs }
    found.set(metric, (await metrics.series({ ...range, includesNow: true })).at(-1))
  }
  return found
}

/** Relative to the current allocation, even if the sample is from before a restart. */
function percentOf(used: number, allocated: number): number {
  return allocated === 0 ? 0 : rounded((used / allocated) * 100)
}

function rounded(value: number): number {
  return Number(value.toPrecision(6))
}
