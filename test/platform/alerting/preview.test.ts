import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAlert, getAlert, updateAlert } from '../../../src/contract/alerts.ts'
import { bucketOf } from '../../../src/metrics/histogram.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const turns = 240

/** Busy and quiet periods, in which few requests fail or are slow; a container that works now and then. */
function sampleOf(turn: number) {
  const isQuiet = turn % 40 > 25
  const isBad = turn % 80 > 40 && turn % 80 < 70
  const requests = isQuiet ? 2 : 400
  const answered5xx = isBad ? (isQuiet ? 2 : 100) : isQuiet && turn % 3 === 0 ? 2 : 1
  const slow = isQuiet || isBad ? requests / 2 : 4
  return {
    containers: [
      {
        cpuMillicores: turn % 60 > 30 ? 450 : 50,
        cpuLimitMillicores: 500,
        memoryMb: 100 + turn,
        memoryLimitMb: 512,
      },
    ],
    ingress: {
      ...{ seconds: 10, requests, answered4xx: 0, answered5xx },
      latency: { [bucketOf(30)]: requests - slow, [bucketOf(900)]: slow },
    },
  }
}

describe('the preview of an alert', () => {
  const clock = new TestClock()
  let platform: TestPlatform
  beforeAll(async () => {
    platform = await TestPlatform.start({ reconciles: false, clock })
  })
  afterAll(() => platform.close())

  it('fires where the evaluator fired on the same samples, whatever the metric and aggregation', async () => {
    const { client } = platform.admin
    const { appEnvId } = await platform.makeEnvironment()
    const rules = [
      { metric: 'ingress_5xx_percent', threshold: 10 },
      { metric: 'ingress_5xx_percent', threshold: 60, aggregation: 'max' },
      { metric: 'ingress_p95_latency', threshold: 0.5 },
      { metric: 'ingress_p99_latency', threshold: 0.5, aggregation: 'last' },
      { metric: 'cpu_percent', threshold: 60 },
      { metric: 'memory_usage', threshold: 200, aggregation: 'min' },
      { metric: 'ingress_request_rate', operator: 'lt', threshold: 25 },
    ]
    const alertIds: string[] = []
    for (const rule of rules) {
      const input = { appEnvId, name: rule.metric, operator: 'gt', duration: '1m', queryRange: '5m', ...rule }
      alertIds.push((await client.call(createAlert, { ...input, contactPointIds: [] })).alert.alertId)
    }
    for (let turn = 1; turn <= turns; turn += 1) {
      await clock.advance(10_000)
      await platform.metrics.append(clock.wallMs(), [{ appEnvId, ...sampleOf(turn) }])
      await platform.alerting.evaluator.cycle()
    }
    for (const [index, alertId] of alertIds.entries()) {
      const { stateHistory } = await client.call(getAlert, { alertId })
      const fired = stateHistory.filter(({ to }) => to === 'Firing').map(({ at }) => at)
      const answer = await client.call(updateAlert, { alertId }, { dryRun: true })
      const { preview } = answer as unknown as { preview: { wouldHaveFired: { at: string }[] } }
      const about = JSON.stringify(rules[index])
      expect(fired.length, about).toBeGreaterThan(0)
      expect(preview.wouldHaveFired.map(({ at }) => at).reverse(), about).toEqual(fired)
    }
  })
})
