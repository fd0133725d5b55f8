import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scaleAppEnvContainers, stopAppEnv } from '../../../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { getAppEnvMetrics, getAppEnvMetricsSeries } from '../../../src/contract/measurements.ts'
import { metricUnits, sampledMetrics } from '../../../src/contract/metrics.ts'
import { metricViolation } from '../../../src/contract/rules.ts'
import { bucketOf } from '../../../src/metrics/histogram.ts'
import { IngressCounter } from '../../../src/metrics/ingress-counter.ts'
import { Sampler } from '../../../src/metrics/sampler.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

const apartMs = 4_000

describe('metrics of environments', () => {
  let platform: TestPlatform
  let app = ''
  let fn = ''
  const client = () => platform.admin.client

  async function deployed(preset: 'CUSTOM' | 'FUNCTION'): Promise<string> {
    const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: preset, useImage: true } })
    await client().call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/app:1' })
    const status = () => client().call(getAppEnvStatus, { appEnvId })
    await untilRead(status, (read) => read.status === 'RUNNING', 'a running environment')
    return appEnvId
  }

  /** Stands still at now, and moves with `shift.ms`. */
  function frozenClock(shift: { ms: number }) {
    const { clock } = platform
    const [wallMs, monotonicMs] = [clock.wallMs(), clock.monotonicMs()]
    return {
      wallMs: () => wallMs + shift.ms,
      monotonicMs: () => monotonicMs + shift.ms,
      after: clock.after.bind(clock),
    }
  }

  /** One sample with a time four seconds ago, then load, then one sample now. */
  async function measure(): Promise<void> {
    const shift = { ms: -apartMs }
    const shifted = frozenClock(shift)
    const ingress = new IngressCounter(platform.metrics.periodMs)
    ingress.hello(1, shifted.monotonicMs())
    const sampler = new Sampler({
      clock: shifted,
      log: platform.log,
      store: platform.metrics,
      ingress,
      environments: () => platform.reconciler!.metricTargets(),
    })
    await sampler.sample()
    for (const container of platform.engine.running()) container.burn(1_000)
    const counters = { requests: 40, answered4xx: 4, answered5xx: 2, unanswered: 0, inFlight: 1, queued: 0 }
    const latency = { [bucketOf(100)]: 38, [bucketOf(2_000)]: 2 }
    ingress.traffic([app, fn].map((appEnvId) => ({ appEnvId, ...counters, latency })))
    shift.ms = 0
    await sampler.sample()
  }

  beforeAll(async () => {
    platform = await TestPlatform.start()
    ;[app, fn] = [await deployed('CUSTOM'), await deployed('FUNCTION')]
    await client().call(scaleAppEnvContainers, { appEnvId: app, containers: 2 })
    const status = () => client().call(getAppEnvStatus, { appEnvId: app })
    await untilRead(status, ({ containers }) => containers.ready === 2, 'two containers')
    await measure()
  })
  afterAll(() => platform.close())

  it('the fifteen metrics of 2.7 are measured for a regular app, each with its unit', async () => {
    for (const metric of sampledMetrics) {
      const answer = await client().call(getAppEnvMetricsSeries, { appEnvId: app, metric })
      expect(answer).toMatchObject({ appEnvId: app, metric, unit: metricUnits[metric] })
      expect(answer.points.length, metric).toBeGreaterThan(0)
    }
  })

  it('reports CPU in millicores and as percent of the allocation', async () => {
    const last = async (metric: 'cpu_usage' | 'cpu_percent' | 'cpu_usage_per_pod') =>
      (await client().call(getAppEnvMetricsSeries, { appEnvId: app, metric })).points.at(-1)!.last
    // Two containers burned 1 s each in a little more than 4 s: about 500 of 1000 millicores.
    const used = await last('cpu_usage')
    expect(used).toBeGreaterThan(350)
    expect(used).toBeLessThanOrEqual(500)
    expect(await last('cpu_percent')).toBeCloseTo(used / 10, 2)
    expect(await last('cpu_usage_per_pod')).toBeCloseTo(used / 2, 2)
  })

  it('answers the current values in the documented shape', async () => {
    const answer = await client().call(getAppEnvMetrics, { appEnvId: app })
    expect(answer).toEqual({
      appEnvId: app,
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      resources: {
        cpu: { allocatedMillicores: 1_000, usedMillicores: expect.any(Number), percent: expect.any(Number) },
        memory: { allocatedMb: 1_024, usedMb: 80, percent: 7.8125 },
      },
      containers: { desired: 2, running: 2, ready: 2 },
      ingress: {
        requestRate: expect.any(Number),
        rate4xx: expect.any(Number),
        rate5xx: expect.any(Number),
        p95LatencySeconds: expect.closeTo(0.1, 2),
        p99LatencySeconds: expect.closeTo(2, 1),
      },
    })
    expect(answer.resources!.cpu.percent).toBeGreaterThan(35)
    expect(answer.ingress.requestRate).toBeGreaterThan(7)
    expect(answer.ingress.requestRate).toBeLessThanOrEqual(10)
    expect(answer.ingress.rate4xx).toBeCloseTo(answer.ingress.requestRate / 10, 4)
    expect(answer.ingress.rate5xx).toBeCloseTo(answer.ingress.requestRate / 20, 4)
  })

  it('F9 a function has ingress metrics but neither CPU nor memory', async () => {
    expect((await client().call(getAppEnvMetrics, { appEnvId: fn })).resources).toBeNull()
    await expect(
      client().call(getAppEnvMetricsSeries, { appEnvId: fn, metric: 'memory_usage' }),
    ).rejects.toMatchObject({ kind: 'invalid', message: 'memory_usage is not collected for functions' })
    const metricTargets = platform.reconciler!.metricTargets().find(({ appEnvId }) => appEnvId === fn)
    expect(metricTargets).toMatchObject({ containers: [], hasIngress: true })
    const metric = 'ingress_5xx_percent'
    const { points } = await client().call(getAppEnvMetricsSeries, { appEnvId: fn, metric })
    expect(points.at(-1)!.value).toBeCloseTo(5, 4)
  })

  it('counts local replies of the gateway immediately, even for a stopped environment', async () => {
    const { clock } = platform
    const appEnvId = await deployed('CUSTOM')
    const shift = { ms: 0 }
    const shifted = frozenClock(shift)
    const ingress = new IngressCounter(platform.metrics.periodMs)
    ingress.hello(1, shifted.monotonicMs() - 2_000)
    platform.metrics.sinceSample = (id) => ingress.peek(id, shifted.monotonicMs())
    const sampler = new Sampler({
      clock: shifted,
      log: platform.log,
      store: platform.metrics,
      ingress,
      environments: () => platform.reconciler!.metricTargets(),
    })
    const counters = {
      answered4xx: 0,
      unanswered: 0,
      inFlight: 0,
      queued: 0,
      latency: { [bucketOf(60_000)]: 3 },
    }
    const now = async () => (await client().call(getAppEnvMetrics, { appEnvId })).ingress
    ingress.traffic([{ appEnvId, requests: 3, answered5xx: 3, ...counters }])
    const timedOut = { p95LatencySeconds: expect.closeTo(60, -1), rate4xx: 0 }
    // Three time-outs, and no sample yet.
    const before = await now()
    expect(before).toMatchObject(timedOut)
    expect(before.rate5xx).toBeGreaterThan(0)
    expect(before.rate5xx).toBeCloseTo(before.requestRate, 1)
    await sampler.sample()
    expect(await now()).toMatchObject(timedOut)
    // Counted once.
    expect((await now()).rate5xx).toBeLessThanOrEqual(before.rate5xx)

    await client().call(stopAppEnv, { appEnvId })
    const metricTargets = () => platform.reconciler!.metricTargets().find((one) => one.appEnvId === appEnvId)
    await untilRead(
      async () => metricTargets()?.runs,
      (runs) => runs === false,
      'stopped',
    )
    shift.ms = 2_000
    await sampler.sample()
    shift.ms = 4_000
    ingress.traffic([{ appEnvId, requests: 8, answered5xx: 8, ...counters, latency: { [bucketOf(1)]: 5 } }])
    await sampler.sample()
    platform.metrics.sinceSample = () => null
    const to = new Date(clock.wallMs() + 60_000).toISOString()
    const series = { appEnvId, metric: 'ingress_5xx_rate', to, step: 3_600 }
    const { points } = await client().call(getAppEnvMetricsSeries, series)
    expect(points.at(-1)!.last).toBeCloseTo(2.5, 0)
  })

  it('answers zeros, never nulls, for an environment that never ran', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    expect(await client().call(getAppEnvMetrics, { appEnvId })).toMatchObject({
      resources: {
        cpu: { allocatedMillicores: 0, usedMillicores: 0, percent: 0 },
        memory: { allocatedMb: 0, usedMb: 0, percent: 0 },
      },
      containers: { desired: 0, running: 0, ready: 0 },
      ingress: { requestRate: 0, rate4xx: 0, rate5xx: 0, p95LatencySeconds: 0, p99LatencySeconds: 0 },
    })
  })

  it('rejects ingress metrics of a database, reversed ranges and too many points', async () => {
    const database = { isFunction: false, isDatabase: true }
    expect(metricViolation('ingress_request_rate', database)?.message).toBe(
      'ingress_request_rate is not available for database environments',
    )
    expect(metricViolation('cpu_percent', database)).toBeNull()
    const ask = (input: Record<string, unknown>) =>
      platform.request('GET', '/app-env/metrics-series', { token: platform.admin.token, input })
    const of = { appEnvId: app, metric: 'cpu_usage' }
    const turned = await ask({ ...of, from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' })
    expect(turned.status).toBe(400)
    const many = await ask({ ...of, from: '2026-01-01T00:00:00Z', to: '2026-01-03T00:00:00Z', step: 10 })
    expect(many.status).toBe(400)
    expect(many.json.details).toMatch(/Set step to \d+ or more/)
    expect((await ask({ appEnvId: app, metric: 'cpu' })).status).toBe(400)
    expect((await ask({ appEnvId: app })).status).toBe(400)
  })

  it('M2 metrics and usage of a restricted environment are 403, A2 an environment token reads none', async () => {
    const accountId = await platform.makeAccount('Guarded', { memberEnvAccessEnabled: true })
    const admin = await platform.makeUser({ accountId, admin: true })
    const hidden = await platform.makeEnvironment({ by: admin.client, accountId })
    const own = await platform.makeEnvironment({ by: admin.client, accountId })
    const member = await platform.makeUser({ accountId, allowedAppEnvIds: [own.appEnvId] })
    const token = await platform.makeEnvironmentToken(own.appEnvId)
    for (const part of ['metrics', 'metrics-series', 'container-series', 'usage']) {
      const path = `/app-env/${part}`
      const metric = part === 'metrics-series' ? { metric: 'cpu_usage' } : {}
      const status = async (by: string | null, appEnvId: string) =>
        (await platform.request('GET', path, { token: by, input: { appEnvId, ...metric } })).status
      expect(await status(member.token, own.appEnvId), path).toBe(200)
      expect(await status(member.token, hidden.appEnvId), path).toBe(403)
      expect(await status(token, own.appEnvId), path).toBe(403)
      expect(await status(null, own.appEnvId), path).toBe(401)
      expect(await status(platform.admin.token, own.appEnvId), path).toBe(404)
    }
  })
})
