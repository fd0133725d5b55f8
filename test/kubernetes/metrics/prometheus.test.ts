import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { type Metric, sampledMetrics } from '../../../src/contract/metrics.ts'
import { PrometheusClient } from '../../../src/metrics/prometheus/client.ts'
import { PrometheusMetrics } from '../../../src/metrics/prometheus/source.ts'
import { applyManifests, cluster, kubectl, newNamespace } from '../../../testkit/kubernetes/cluster.ts'

const { prometheus, ingress, registry, domain } = cluster
const image = `${registry}/demo/echo:1`

describe.skipIf(!prometheus || !ingress || !registry || !domain)('metrics of a cluster (2.7)', () => {
  it('measures the pods and the requests of an app and of a function', async () => {
    const namespace = await newNamespace()
    const host = `${namespace}.app.${domain}`
    await applyManifests(...app(namespace, host), knativeService(namespace))
    await kubectl(['-n', namespace, 'wait', '--for=condition=Available', 'deployment/web', '--timeout=180s'])
    await kubectl(['-n', namespace, 'wait', '--for=condition=Ready', 'ksvc/fn', '--timeout=180s'])
    const source = sourceOf(namespace)
    const fromMs = Date.now() - 60_000
    const value = (appEnvId: string, metric: Metric) => read(source, appEnvId, metric, fromMs)
    const functionHost = `fn.${namespace}.${domain}`
    await expect.poll(() => send(host, '/')).toBe(200)
    await expect.poll(() => send(functionHost, '/')).toBe(200)
    for (let turn = 0; turn < 20; turn += 1)
      await Promise.all([send(host, '/?cpu=20'), send(functionHost, '/?sleep=400')])

    const cpu = async () => {
      await send(host, '/?cpu=20')
      return (await value('env_app', 'cpu_usage'))?.max ?? 0
    }
    await expect.poll(cpu).toBeGreaterThan(1)
    await expect
      .poll(async () => (await value('env_app', 'ingress_request_rate'))?.max ?? 0)
      .toBeGreaterThan(0.1)
    await expect
      .poll(async () => (await value('env_fn', 'ingress_p95_latency'))?.value ?? 0)
      .toBeGreaterThan(0.3)
    for (const metric of sampledMetrics) expect(await value('env_app', metric), metric).toBeDefined()
    expect(await value('env_fn', 'ingress_5xx_percent')).toMatchObject({ value: 0 })
    const memory = (toMs = Date.now()) =>
      Promise.all(
        (['memory_usage', 'memory_percent', 'memory_usage_per_pod'] as const).map((metric) =>
          read(source, 'env_app', metric, fromMs, toMs),
        ),
      )
    const measuredPods = async () => {
      const [all, , each] = await memory()
      return Math.round(all!.last / each!.last)
    }
    await expect.poll(measuredPods).toBe(2)
    const [usage, percent, perPod] = await memory()
    expect(percent?.last).toBeCloseTo((100 * usage!.last) / 128)
    expect(perPod?.last).toBeCloseTo(usage!.last / 2)
  })

  it('counts the first error of an app, although its counter is new', async () => {
    const namespace = await newNamespace()
    const host = `${namespace}.app.${domain}`
    await applyManifests(...app(namespace, host))
    await kubectl(['-n', namespace, 'wait', '--for=condition=Available', 'deployment/web', '--timeout=180s'])
    const source = sourceOf(namespace)
    const fromMs = Date.now() - 60_000
    await expect.poll(() => send(host, '/')).toBe(200)
    // The container ends in the middle of this one request, so the counter of 502 begins at 1 and stays there.
    expect(await send(host, '/exit')).toBe(502)
    await expect
      .poll(() => read(source, 'env_app', 'ingress_5xx_rate', fromMs).then((one) => one?.max ?? 0))
      .toBeGreaterThan(0)
  })
})

describe('a Prometheus that cannot be read', () => {
  it.skipIf(!prometheus)('says so for a query that the server refuses', async () => {
    const client = new PrometheusClient(prometheus!)
    const query = { promql: 'sum(', startMs: 0, endMs: 1, stepMs: 1 }
    await expect(client.range(query)).rejects.toMatchObject({ kind: 'unavailable' })
  })
})

function sourceOf(namespace: string): PrometheusMetrics {
  return new PrometheusMetrics({
    client: new PrometheusClient(prometheus!),
    periodMs: 10_000,
    targetsOf: async () =>
      new Map([
        ['env_app', { namespace, workload: 'web' }],
        ['env_fn', { namespace, workload: 'fn' }],
      ]),
  })
}

async function read(
  source: PrometheusMetrics,
  appEnvId: string,
  metric: Metric,
  fromMs: number,
  toMs = Date.now(),
) {
  const [point] = await source.series({ appEnvId, metric, fromMs, toMs, stepMs: toMs - fromMs })
  return point
}

/** Status of a GET through the ingress; 0 when it cannot be reached. */
function send(host: string, path: string): Promise<number> {
  return new Promise((resolve) => {
    request(`${ingress}${path}`, { headers: { host } }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
      .on('error', () => resolve(0))
      .end()
  })
}

function app(namespace: string, host: string): object[] {
  const metadata = { name: 'web', namespace }
  const labels = { app: 'web' }
  const limits = { cpu: '250m', memory: '64Mi' }
  const backend = { service: { name: 'web', port: { number: 80 } } }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: 'app', image, resources: { limits, requests: { cpu: '50m' } } }] },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata,
      spec: { rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }] },
    },
  ]
}

function knativeService(namespace: string): object {
  return {
    apiVersion: 'serving.knative.dev/v1',
    kind: 'Service',
    metadata: { name: 'fn', namespace },
    spec: { template: { spec: { containers: [{ image }] } } },
  }
}
