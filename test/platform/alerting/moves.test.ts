import { afterAll, beforeAll, expect, it } from 'vitest'
import { Evaluator } from '../../../src/alerting/evaluator.ts'
import { AlertingFixture } from '../../../testkit/alerting/fixture.ts'
import { FakeMetrics } from '../../../testkit/fakes/metrics.ts'
import { placeEnvironment } from '../../../testkit/platform/place-environment.ts'
import { untilRead } from '../../../testkit/until.ts'

let fixture: AlertingFixture
beforeAll(async () => {
  fixture = await AlertingFixture.start()
})
afterAll(() => fixture.close())

/** That of the control plane which runs a region, and has its metrics only. */
function evaluatorOf(region: string, metrics: FakeMetrics): Evaluator {
  const { db, log, alerting } = fixture.platform
  return new Evaluator({
    ...{ db, log, metrics, clock: fixture.clock, clockScale: 1 },
    evaluatedRegions: () => [region],
    alertUrl: () => 'http://alert.test/',
    wakeNotifications: () => alerting.notifications.wake(),
  })
}

it('3.2: an alert is evaluated where its environment serves, so a move does not end it', async () => {
  const { clock, metrics, platform, receiver } = fixture
  const webhook = await fixture.point('webhook', { url: receiver.url('/moves') })
  const { appEnvId, alertId } = await fixture.makeAlert([webhook])
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
  expect(await fixture.read(alertId)).toMatchObject({ lastKnownState: 'Firing', region: 'local' })

  await placeEnvironment(platform.db, appEnvId, { region: 'plain', servedFrom: 'local' })
  await cycles(metrics, 95, 3)
  expect(await fixture.read(alertId)).toMatchObject({ lastKnownState: 'Firing', region: 'local' })

  await placeEnvironment(platform.db, appEnvId, { region: 'plain' })
  await cycles(there, 10, 1)
  expect(await fixture.read(alertId)).toMatchObject({ lastKnownState: 'Normal', region: 'plain' })
  const events = await untilRead(
    async () => fixture.eventsOf(alertId).map(({ body }) => [body.event, body.region]),
    ({ length }) => length === 2,
    'two notifications',
  )
  expect(events).toEqual([
    ['firing', 'local'],
    ['resolved', 'plain'],
  ])
  for (const evaluator of evaluators) await evaluator.stop()
})
