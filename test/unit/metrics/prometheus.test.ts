import { beforeEach, describe, expect, it } from 'vitest'
import { type Metric, sampledMetrics } from '../../../src/contract/metrics.ts'
import type { PrometheusTarget } from '../../../src/metrics/prometheus/queries.ts'
import { PrometheusMetrics } from '../../../src/metrics/prometheus/source.ts'
import { FakePrometheus } from '../../../testkit/fakes/prometheus.ts'

const startMs = Date.UTC(2026, 0, 5)
const minuteMs = 60_000
const web = 'b-one-web-80@kubernetes'

let prometheus: FakePrometheus
let source: PrometheusMetrics
let lookUps: number

beforeEach(() => {
  prometheus = new FakePrometheus()
  lookUps = 0
  const targets = new Map<string, PrometheusTarget>([
    ['env_web', { namespace: 'b-one', workload: 'web' }],
    ['env_web_two', { namespace: 'b-one', workload: 'web-2' }],
    ['env_db', { namespace: 'b-two', workload: 'db' }],
    ['env_fn', { namespace: 'b-two', workload: 'fn' }],
  ])
  source = new PrometheusMetrics({
    client: prometheus,
    periodMs: 10_000,
    targetsOf: async () => {
      lookUps += 1
      return targets
    },
  })
})

async function over(metric: Metric, appEnvId = 'env_web', minutes = 5) {
  const toMs = startMs + minutes * minuteMs
  const points = await source.series({ appEnvId, metric, fromMs: startMs, toMs, stepMs: minutes * minuteMs })
  return points[0] ?? null
}

describe('the fifteen metrics from Prometheus (2.7)', () => {
  it('combines CPU and memory over pods, and tells the busiest and the idlest', async () => {
    prometheus.addPod('b-one', 'web-5d79bc7c8f-aaaaa', { cores: 0.4, bytes: 128 * 1024 ** 2 })
    prometheus.addPod('b-one', 'web-5d79bc7c8f-bbbbb', { cores: 0.1, bytes: 384 * 1024 ** 2 })
    expect(await over('cpu_usage')).toMatchObject({ value: 500, min: 500, max: 500, last: 500 })
    expect(await over('cpu_percent')).toMatchObject({ value: 50 })
    expect(await over('memory_usage')).toMatchObject({ value: 512 })
    expect(await over('memory_percent')).toMatchObject({ value: 50 })
    expect(await over('cpu_usage_per_pod')).toMatchObject({ value: 250, min: 100, max: 400 })
    expect(await over('cpu_percent_per_pod')).toMatchObject({ value: 50, min: 20, max: 80 })
    expect(await over('memory_usage_per_pod')).toMatchObject({ value: 256, min: 128, max: 384 })
    expect(await over('memory_percent_per_pod')).toMatchObject({ value: 50, min: 25, max: 75 })
  })

  it('counts the pods of the environment only, and of databases too', async () => {
    prometheus.addPod('b-one', 'web-5d79bc7c8f-aaaaa', { cores: 0.1 })
    prometheus.addPod('b-one', 'web-2-5d79bc7c8f-aaaaa', { cores: 0.2 })
    prometheus.addPod('b-two', 'web-5d79bc7c8f-aaaaa', { cores: 0.3 })
    prometheus.addPod('b-two', 'db-0', { cores: 0.4 })
    expect(await over('cpu_usage')).toMatchObject({ max: 100 })
    expect(await over('cpu_usage', 'env_web_two')).toMatchObject({ max: 200 })
    expect(await over('cpu_usage', 'env_db')).toMatchObject({ max: 400 })
  })

  it('stops counting a pod when it ends, although its rate has a value for a while', async () => {
    prometheus.addPod('b-one', 'web-5d79bc7c8f-aaaaa', { cores: 0.1, endsMs: startMs + 2 * minuteMs })
    prometheus.addPod('b-one', 'web-5d79bc7c8f-bbbbb', { cores: 0.1 })
    expect(await over('cpu_usage')).toMatchObject({ min: 100, max: 200, last: 100 })
  })

  it('weighs rates by time and percentages by requests', async () => {
    const burst = { toMs: startMs + minuteMs }
    prometheus.addTraffic(web, { rate: 8, ...burst })
    prometheus.addTraffic(web, { rate: 2, code: '503', ...burst })
    prometheus.addTraffic(web, { rate: 10, fromMs: startMs + minuteMs })
    prometheus.addTraffic(web, { rate: 0.5, code: '404', fromMs: startMs + minuteMs })
    const rate = await over('ingress_request_rate')
    expect(rate?.value).toBeCloseTo(10.4)
    expect(rate).toMatchObject({ min: 10, max: 10.5, last: 10.5 })
    expect((await over('ingress_5xx_rate'))?.value).toBeCloseTo(0.4)
    expect((await over('ingress_4xx_rate'))?.value).toBeCloseTo(0.4)
    expect((await over('ingress_5xx_percent'))?.value).toBeCloseTo((100 * 120) / 3120)
    expect((await over('ingress_5xx_percent'))?.max).toBeCloseTo(20)
    expect((await over('ingress_4xx_percent'))?.value).toBeCloseTo((100 * 120) / 3120)
  })

  it('takes latencies of all requests of a step from the histogram of the ingress', async () => {
    const shares = { '0.1': 0.9, '0.3': 0.98, '1.2': 1, '+Inf': 1 }
    prometheus.addTraffic(web, { rate: 5, shares })
    expect((await over('ingress_p95_latency'))?.value).toBeCloseTo(0.1 + (0.2 * 0.05) / 0.08)
    expect((await over('ingress_p99_latency'))?.value).toBeCloseTo(0.3 + (0.9 * 0.01) / 0.02)
  })

  it('takes the largest bound for requests that are slower than all of them', async () => {
    prometheus.addTraffic(web, { shares: { '0.1': 0.5, '5': 0.6, '+Inf': 1 } })
    expect(await over('ingress_p99_latency')).toMatchObject({ value: 5, max: 5 })
  })

  it('adds the revisions of a function that take traffic', async () => {
    for (const split of [0, 1])
      prometheus.addTraffic(`b-two-fn-rule-0-path-0-split-${split}@knative`, { rate: 3 })
    expect((await over('ingress_request_rate', 'env_fn'))?.value).toBeCloseTo(6)
    expect((await over('ingress_p95_latency', 'env_fn'))?.value).toBeCloseTo(0.095)
  })
})

describe('steps without a value', () => {
  it('has zero rates and percentages, but no latency, where no request came', async () => {
    expect(await over('ingress_request_rate')).toMatchObject({ value: 0 })
    expect(await over('ingress_5xx_percent')).toMatchObject({ value: 0 })
    expect(await over('ingress_p95_latency')).toBeNull()
  })

  it('has no value while the ingress is not scraped', async () => {
    prometheus.scrapesIngress = false
    expect(await over('ingress_request_rate')).toBeNull()
  })

  it('has no value for an environment without samples or without a place in the cluster', async () => {
    for (const metric of sampledMetrics.slice(0, 8)) expect(await over(metric), metric).toBeNull()
    expect(await over('cpu_usage', 'env_unknown')).toBeNull()
  })

  it('rejects while Prometheus is away', async () => {
    prometheus.isAway = true
    await expect(over('cpu_usage')).rejects.toMatchObject({ kind: 'unavailable' })
  })
})

describe('queries', () => {
  it('reads the alerts of many environments with one query for each kind of sample', async () => {
    const all = ['env_web', 'env_web_two', 'env_db', 'env_fn'].flatMap((appEnvId) =>
      sampledMetrics.map((metric) => over(metric, appEnvId)),
    )
    await Promise.all(all)
    expect(prometheus.queries).toHaveLength(4)
    expect(lookUps).toBe(1)
  })

  it('asks with selectors of exactly these environments', async () => {
    await Promise.all([over('memory_usage'), over('memory_usage', 'env_db')])
    const selected = '{namespace=~"b-one|b-two", pod=~"web-.+|db-.+", container!=""}'
    expect(prometheus.queries.map(({ promql }) => promql)).toEqual([
      `label_replace(sum by (namespace, pod) (container_memory_working_set_bytes${selected}), "of", "used", "", "") or label_replace(sum by (namespace, pod) (container_spec_memory_limit_bytes${selected} > 0), "of", "limit", "", "")`,
    ])
  })

  it('returns one point for each step, and reads a week in at most 5,000 samples', async () => {
    prometheus.addPod('b-one', 'web-5d79bc7c8f-aaaaa')
    const week = 7 * 24 * 60 * minuteMs
    const range = { appEnvId: 'env_web', metric: 'cpu_usage' as const, fromMs: startMs, toMs: startMs + week }
    const points = await source.series({ ...range, stepMs: week / 336 })
    expect(points.map(({ t }) => (t - startMs) / (week / 336))).toEqual(
      Array.from({ length: 336 }, (_, i) => i + 1),
    )
    const [{ startMs: first, endMs, stepMs }] = prometheus.queries as [(typeof prometheus.queries)[0]]
    expect((endMs - first) / stepMs).toBeLessThanOrEqual(5_000)
  })
})
