import { setImmediate } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { getAppEnvPods, getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import {
  getAppEnvMetrics,
  getAppEnvMetricsSeries,
  getAppEnvUsage,
} from '../../../src/contract/measurements.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

describe('measuring and billing over a kill -9 of the control plane (process engine)', () => {
  // Idle periods run 60 times faster: the least, 300 s, is 5 s. Samples are taken four times a second.
  const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_CLOCK_SCALE: '60' })
  afterAll(() => installation.dispose())

  const figure = async (name: string): Promise<number> => {
    const text = await (await fetch(new URL('/metrics', installation.ready.api))).text()
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  }

  it('counts every request once and bills every second once (F1, F4)', async () => {
    await installation.start()
    const { appEnvId, host } = await makeFunction(installation, 'measured')
    await deploy(installation, appEnvId, sampleSource('node:20-alpine'))
    await untilDeployed(installation, appEnvId)
    const ask = async (times: number) => {
      for (let request = 0; request < times; request += 1) {
        expect((await installation.request(host)).status).toBe(200)
      }
    }
    await ask(30)
    await untilRead(
      () => figure('longshore_gateway_requests_total'),
      (count) => count === 30,
      '30 requests counted',
    )
    const metric = 'ingress_request_rate'
    await untilRead(
      () => installation.client().call(getAppEnvMetricsSeries, { appEnvId, metric }),
      // A quiet sample after the busy ones: every request has been looked at and written down.
      ({ points }) => points.some(({ max }) => max > 0) && points.at(-1)?.last === 0,
      'a rate, and quiet after it',
    )
    const now = await installation.client().call(getAppEnvMetrics, { appEnvId })
    expect(now.resources).toBeNull()
    expect(now.ingress.p95LatencySeconds).toBeGreaterThan(0)
    await installation.end('SIGKILL')
    await ask(20)
    // The gateway goes on, before, while and after the new control plane takes over: no request fails.
    let meanwhile = 20
    const started = installation.start()
    for (let isUp = false; !isUp; meanwhile += 1) {
      await ask(1)
      isUp = await Promise.race([started.then(() => true), setImmediate(false)])
    }
    // The new control plane counts what came since the old one last looked, no more.
    await untilRead(
      () => figure('longshore_gateway_requests_total'),
      (count) => count === meanwhile,
      `the ${meanwhile} meanwhile`,
    )
    await ask(5)
    await untilRead(
      () => figure('longshore_gateway_requests_total'),
      (count) => count === meanwhile + 5,
      'all of them',
    )
    await untilRead(
      () => installation.client().call(getAppEnvStatus, { appEnvId }),
      ({ containers }) => containers.running === 0,
      'zero containers',
    )
    const { pods } = await installation.client().call(getAppEnvPods, { appEnvId })
    const second = (iso: string | null) => Math.floor(Date.parse(iso!) / 1_000)
    const lived = pods.reduce((sum, pod) => sum + second(pod.finishedAt) - second(pod.startedAt), 0)
    const usage = await installation.client().call(getAppEnvUsage, { appEnvId })
    expect(Math.abs(usage.containerSeconds - lived)).toBeLessThanOrEqual(pods.length)
    expect(usage.containerSeconds).toBeGreaterThan(2)
    expect(usage.billedZCloudSeconds).toBe(usage.containerSeconds * 3)
    // F1: nothing is billed at zero, however the seconds go by.
    const readAtMs = Date.now()
    const later = await untilRead(
      async () => ({
        atMs: Date.now(),
        usage: await installation.client().call(getAppEnvUsage, { appEnvId }),
      }),
      ({ atMs }) => atMs > readAtMs + 1_500,
      'a later read',
    )
    expect(later.usage).toEqual(usage)
  })
})
