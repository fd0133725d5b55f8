import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAlert, getAlert } from '../../../src/contract/alerts.ts'
import { scaleAppEnvContainers } from '../../../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { createContactPoint } from '../../../src/contract/contact-points.ts'
import { getAppEnvMetricsSeries } from '../../../src/contract/measurements.ts'
import { type Metric, metricUnits, sampledMetrics } from '../../../src/contract/metrics.ts'
import { MailServer } from '../../../testkit/alerting/mail-server.ts'
import { Receiver } from '../../../testkit/alerting/receiver.ts'
import { availableEngines } from '../../../testkit/engines/available-engines.ts'
import {
  deploy,
  makeFunction,
  noWindow,
  sampleSource,
  untilDeployed,
} from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

/** Answers after `?ms=` with `?status=`; `?burn=` keeps the CPU busy for so long, also after the answer. */
const server = `
const http = require('http'); let busyUntil = 0
http.createServer(async (request, response) => {
  const { searchParams: asked } = new URL(request.url, 'http://x')
  if (asked.has('burn')) busyUntil = Date.now() + Number(asked.get('burn'))
  await new Promise((resolve) => setTimeout(resolve, Number(asked.get('ms') ?? 0)))
  response.statusCode = Number(asked.get('status') ?? 200)
  response.end('ok')
}).listen(process.env.PORT)
setInterval(() => { const end = Date.now() + 20; while (Date.now() < Math.min(end, busyUntil)); }, 25)
`

interface Series {
  unit: string
  points: { t: string; value: number; min: number; max: number; last: number }[]
}

for (const { engine, base } of await availableEngines()) {
  describe(`alerts on what is really measured (${engine} engine)`, () => {
    let receiver: Receiver
    let mail: MailServer
    let installation: Installation
    let contactPointIds: string[] = []
    const loads: { stop: () => Promise<void> }[] = []

    beforeAll(async () => {
      receiver = await Receiver.start()
      mail = await MailServer.start()
      installation = new Installation({
        LONGSHORE_ENGINE: engine,
        // A minute is a second, and values are measured four times a second.
        LONGSHORE_CLOCK_SCALE: '60',
        LONGSHORE_ALLOW_PRIVATE_WEBHOOKS: 'true',
        LONGSHORE_INCIDENT_URL: receiver.url('/incident'),
        LONGSHORE_SMTP_URL: mail.url,
      })
      await installation.start()
      const types = {
        webhook: { url: receiver.url('/hook'), username: 'ops', password: 'hook-password' },
        chat: { webhookUrl: receiver.url('/chat'), channel: '#ops', mentionUsers: ['here'] },
        incident: { integrationKey: 'key', severity: 'critical' },
        email: { addresses: ['ops@example.com'] },
      }
      contactPointIds = await Promise.all(
        Object.entries(types).map(async ([type, config]) => {
          const input = { accountId: installation.ready.accountId, name: `Ops ${type}`, type, config }
          const answer = await installation.client().call(createContactPoint, input as never)
          return answer.contactPoint.contactPointId
        }),
      )
    })
    afterAll(async () => {
      await Promise.all(loads.map(({ stop }) => stop()))
      await installation.dispose()
      await receiver.close()
      await mail.close()
    })

    /** Sends requests with short pauses, `clients` at a time; each asks for what `next` says. */
    function load(host: string, clients: number, next: (request: number) => string, pauseMs = 10) {
      let going = true
      let count = 0
      const client = async () => {
        while (going) {
          await installation.request(host, next(count++)).catch(() => {})
          await new Promise((resolve) => setTimeout(resolve, pauseMs))
        }
      }
      const ended = Promise.all(Array.from({ length: clients }, client))
      const one = {
        stop: async () => {
          going = false
          await ended
        },
      }
      loads.push(one)
      return one
    }

    async function makeAlert(appEnvId: string, name: string, metric: Metric, threshold: number) {
      // At this clock scale 30 s, so that a sampler that a busy machine pauses is not NoData, and 5 s, so that a mean
      // that passes the threshold up and down on its way does not fire a second time.
      const rule = { metric, operator: 'gt', threshold, duration: '5m', queryRange: '30m', contactPointIds }
      const { alert } = await installation.client().call(createAlert, { appEnvId, name, ...rule } as never)
      return alert.alertId
    }

    async function makeBusyApp() {
      const client = installation.client()
      const { accountId } = installation.ready
      const { appId } = await client.call(createApp, { name: 'burning', accountId, port: 8080, ...noWindow })
      const { appEnvId } = await client.call(createAppEnv, {
        accountId,
        appId,
        name: 'prod',
        region: 'local',
      })
      await deploy(installation, appEnvId, sampleSource(base, server))
      await untilDeployed(installation, appEnvId)
      await client.call(scaleAppEnvContainers, { appEnvId, containers: 2 })
      await untilRead(
        () => client.call(getAppEnvStatus, { appEnvId }),
        ({ containers }) => containers.ready === 2,
        'two containers',
      )
      await untilCalm(appEnvId)
      return { appEnvId, host: (await client.call(getAppEnv, { appEnvId })).hosts[0]?.host ?? '' }
    }

    /** A start takes CPU too: an alert on it would fire, resolve and fire again. */
    const untilCalm = (appEnvId: string) =>
      untilRead(
        () => {
          const from = new Date(Date.now() - 5_000).toISOString()
          const asked = { appEnvId, metric: 'cpu_percent_per_pod' as const, from, step: 1 }
          return installation.client().call(getAppEnvMetricsSeries, asked)
        },
        ({ points }) => points.length >= 4 && points.every(({ value }) => value < 8),
        'nothing but rest for five seconds',
      )

    const stateOf = (alertId: string) => installation.client().call(getAlert, { alertId })
    const untilAll = (alertIds: string[], state: string) =>
      untilRead(
        () => Promise.all(alertIds.map(stateOf)),
        (alerts) => alerts.every(({ lastKnownState }) => lastKnownState === state),
        `${state} of all alerts`,
        180_000,
      )

    /** What every receiver has accepted about an alert, in order. */
    function heardOf(alertId: string) {
      const of = (path: string) =>
        receiver.accepted.filter((one) => one.path === path).map(({ body, headers }) => ({ body, headers }))
      return {
        hook: of('/hook').filter(({ body }) => body.alertId === alertId),
        incident: of('/incident').filter(({ body }) => body.dedup_key.startsWith(`${alertId}-`)),
      }
    }

    async function seriesOf(appEnvId: string, from: string): Promise<Record<Metric, Series>> {
      const client = installation.client()
      const read = async (metric: Metric) => {
        const { unit, points } = await client.call(getAppEnvMetricsSeries, {
          appEnvId,
          metric,
          from,
          step: 1,
        })
        return [metric, { unit, points }] as const
      }
      return Object.fromEntries(await Promise.all(sampledMetrics.map(read))) as Record<Metric, Series>
    }

    it('fire under real load and resolve after it, and all four kinds of contact points hear both', async () => {
      const fn = await makeFunction(installation, 'slow')
      await deploy(installation, fn.appEnvId, sampleSource(base, server))
      const app = await makeBusyApp()
      await untilDeployed(installation, fn.appEnvId)
      const named = {
        'Slow answers': await makeAlert(fn.appEnvId, 'Slow answers', 'ingress_p95_latency', 0.8),
        'Failing answers': await makeAlert(fn.appEnvId, 'Failing answers', 'ingress_5xx_percent', 20),
        'Busy container': await makeAlert(app.appEnvId, 'Busy container', 'cpu_percent_per_pod', 12),
      }
      const alertIds = Object.values(named)
      const statuses = [200, 404, 200, 500]
      // Far above and far below the thresholds, so that other work on the machine does not decide.
      const slow = load(fn.host, 8, (request) => `/?ms=1000&status=${request % 2 === 0 ? 200 : 500}`)
      const busy = load(app.host, 3, (request) => `/?ms=50&status=${statuses[request % 4]}`)
      await installation.request(app.host, '/?burn=600000')
      const from = new Date().toISOString()
      const firing = await untilAll(alertIds, 'Firing')
      const [p95, failing, cpu] = firing.map(({ currentValue }) => currentValue ?? 0)
      expect(p95).toBeGreaterThan(0.9)
      expect(failing).toBeGreaterThan(20)
      expect(failing).toBeLessThan(80)
      expect(cpu).toBeGreaterThan(12)

      expectFifteen(await seriesOf(app.appEnvId, from))

      await Promise.all([slow.stop(), busy.stop()])
      const calm = [load(fn.host, 1, () => '/', 100), load(app.host, 2, () => '/?burn=0', 100)]
      await untilAll(alertIds, 'Normal')
      const episodes = async () =>
        Promise.all(
          alertIds.map(async (id) => {
            const { name, stateHistory } = await stateOf(id)
            return { name, went: stateHistory.map(({ to, value }) => `${to} ${value}`) }
          }),
        )
      await untilRead(
        async () => ({ heard: [receiver.accepted.length, mail.mails.length], episodes: await episodes() }),
        ({ heard: [posts, mails] }) => posts === 18 && mails === 6,
        'a firing and a resolved notice for three alerts at four contact points',
      )
      await Promise.all(calm.map((one) => one.stop()))
      for (const [name, alertId] of Object.entries(named)) {
        const { hook, incident } = heardOf(alertId)
        expect(hook.map(({ body }) => [body.event, body.name, body.version])).toEqual([
          ['firing', name, '1'],
          ['resolved', name, '1'],
        ])
        expect(hook[0]?.headers.authorization).toBe(`Basic ${btoa('ops:hook-password')}`)
        expect(hook[0]?.body.value).toBeGreaterThan(hook[0]?.body.threshold)
        expect(hook[1]?.body.value).toBeLessThanOrEqual(hook[1]?.body.threshold)
        expect(hook[1]?.body.startedAt).toBe(hook[0]?.body.startedAt)
        expect(
          incident.map(({ body }) => [body.event_action, body.dedup_key, body.payload.severity]),
        ).toEqual([
          ['trigger', `${alertId}-1`, 'critical'],
          ['resolve', `${alertId}-1`, 'critical'],
        ])
        const texts = receiver.accepted.filter(({ path }) => path === '/chat').map(({ body }) => body.text)
        expect(texts.filter((text: string) => text.includes(name))).toEqual([
          expect.stringMatching(/^FIRING: .*<!here>\n/),
          expect.stringMatching(/^RESOLVED: /),
        ])
        expect(mail.mails.filter(({ raw }) => raw.includes(`: ${name} (`))).toHaveLength(2)
        const { stateHistory, notifications } = await stateOf(alertId)
        expect(stateHistory.filter(({ to }) => to === 'Firing')).toHaveLength(1)
        expect(notifications.every(({ ok }) => ok)).toBe(true)
      }
    })
  })
}

/** Every metric of 2.7, with values that only a real measurement gives: two containers, one of them busy. */
function expectFifteen(series: Record<Metric, Series>): void {
  const most = (metric: Metric) => Math.max(...series[metric].points.map(({ max }) => max))
  const about = Object.fromEntries(sampledMetrics.map((metric) => [metric, most(metric)]))
  const holds = (what: string, isTrue: boolean) =>
    expect(isTrue, `${what}: ${JSON.stringify(about)}`).toBe(true)
  for (const metric of sampledMetrics) {
    expect(series[metric].unit).toBe(metricUnits[metric])
    expect(series[metric].points.length, metric).toBeGreaterThan(0)
    holds(`${metric} is more than nothing`, most(metric) > 0)
  }
  // One zCloud is 500 millicores and 512 MB; nothing on this machine uses a hundred cores.
  for (const metric of ['cpu_usage', 'cpu_usage_per_pod'] as const) holds(metric, most(metric) < 100_000)
  for (const metric of ['memory_usage', 'memory_usage_per_pod'] as const) holds(metric, most(metric) < 1_024)
  holds('all containers use more than the busiest', most('memory_usage') > most('memory_usage_per_pod'))
  // A container whose first reading is still to come counts as none, so one moment with both is looked for.
  const ofOne = new Map(series.cpu_percent_per_pod.points.map(({ t, max }) => [t, max]))
  const isLess = series.cpu_percent.points.some(({ t, max }) => max < (ofOne.get(t) ?? 0))
  holds('a share of both is less than of the busy one', isLess)
  const differ = series.cpu_usage_per_pod.points.some(({ max, min }) => max > 2 * min)
  holds('one container is busier than the other', differ)
  const share = (one: number, all: number) => (100 * one) / all
  const close = (a: number, b: number) => Math.abs(a - b) <= 0.01 * Math.max(a, b)
  // The series are read one after the other while samples come in, so the same moment of both is compared.
  const agree = (percent: Metric, usage: Metric, limit: number) => {
    const used = new Map(series[usage].points.map(({ t, max }) => [t, max]))
    return series[percent].points.some(({ t, max }) => close(max, share(used.get(t) ?? 0, limit)))
  }
  holds('percent of the limit', agree('cpu_percent_per_pod', 'cpu_usage_per_pod', 500))
  holds('percent of memory', agree('memory_percent_per_pod', 'memory_usage_per_pod', 512))
  holds('fewer errors than requests', most('ingress_5xx_rate') < most('ingress_request_rate'))
  for (const metric of ['ingress_4xx_percent', 'ingress_5xx_percent'] as const) {
    holds(metric, most(metric) > 5 && most(metric) <= 100)
  }
  holds('p95', most('ingress_p95_latency') >= 0.049)
  holds('p99 is at least p95', most('ingress_p99_latency') >= most('ingress_p95_latency'))
}
