import { afterAll, beforeAll, expect, it } from 'vitest'
import { Evaluator } from '../../../src/alerting/evaluator.ts'
import { AlertingBed } from '../../../testkit/alerting/bed.ts'
import { FakeMetrics } from '../../../testkit/fakes/metrics.ts'
import { placeEnvironment } from '../../../testkit/platform/place-environment.ts'
import { until } from '../../../testkit/platform/story.ts'

let bed: AlertingBed
beforeAll(async () => {
  bed = await AlertingBed.start()
})
afterAll(() => bed.close())

/** That of the control plane which runs a region, and has its metrics only. */
function evaluatorOf(region: string, metrics: FakeMetrics): Evaluator {
  const { db, log, alerting } = bed.platform
  return new Evaluator({
    ...{ db, log, metrics, clock: bed.clock, clockScale: 1 },
    evaluatedRegions: () => [region],
    alertUrl: () => 'http://alert.test/',
    wakeNotifications: () => alerting.notifications.wake(),
  })
}

it('3.2: an alert is evaluated where its environment serves, so a move does not end it', async () => {
  const { clock, metrics, platform, receiver } = bed
  const webhook = await bed.point('webhook', { url: receiver.url('/moves') })
  const { appEnvId, alertId } = await bed.makeAlert([webhook])
  const there = new FakeMetrics()
  const evaluators = [evaluatorOf('local', metrics), evaluatorOf('plain', there)]
  const cycles = async (source: FakeMetrics, value: number, count: number) => {
    for (let turn = 0; turn < count; turn += 1) {
      await clock.advance(10_000)
      source.add(appEnvId, 'cpu_percent', clock.wallMs(), value)
      for (const evaluator of evaluators) await evaluator.cycle()
    }
  }
  await cycles(metrics, 95, 8)
  expect(await bed.read(alertId)).toMatchObject({ lastKnownState: 'Firing', region: 'local' })

  await placeEnvironment(platform.db, appEnvId, { region: 'plain', servedFrom: 'local' })
  await cycles(metrics, 95, 3)
  expect(await bed.read(alertId)).toMatchObject({ lastKnownState: 'Firing', region: 'local' })

  await placeEnvironment(platform.db, appEnvId, { region: 'plain' })
  await cycles(there, 10, 1)
  expect(await bed.read(alertId)).toMatchObject({ lastKnownState: 'Normal', region: 'plain' })
  const events = await until(
    async () => bed.eventsOf(alertId).map(({ body }) => [body.event, body.region]),
    ({ length }) => length === 2,
    'two notifications',
  )
  expect(events).toEqual([
    ['firing', 'local'],
    ['resolved', 'plain'],
  ])
  for (const evaluator of evaluators) await evaluator.stop()
})
