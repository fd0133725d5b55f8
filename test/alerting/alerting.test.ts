import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAlerting } from '../../src/alerting/alerting.ts'
import { createAlert, deleteAlert, getAlert, toggleAlert } from '../../src/contract/alerts.ts'
import { deleteAppEnv } from '../../src/contract/app-envs.ts'
import { createContactPoint, testContactPoint } from '../../src/contract/contact-points.ts'
import { createLog, Secret } from '../../src/log.ts'
import { createNotifier } from '../../src/notifiers/deliver.ts'
import type { Notifier } from '../../src/notifiers/notifier.ts'
import { FakeMetrics } from '../fakes/fake-metrics.ts'
import { TestClock } from '../fakes/test-clock.ts'
import { MailServer } from '../support/mail-server.ts'
import { Receiver } from '../support/receiver.ts'
import { until } from '../support/story.ts'
import { TestPlatform } from '../support/test-platform.ts'

const minute = 60_000

describe('alerting', () => {
  const clock = new TestClock()
  const metrics = new FakeMetrics()
  let receiver: Receiver
  let mail: MailServer
  let platform: TestPlatform
  beforeAll(async () => {
    receiver = await Receiver.start()
    mail = await MailServer.start()
    platform = await TestPlatform.start({ reconciles: false, metrics, clock, notifier: newNotifier() })
    platform.alerting.notices.start()
  })
  afterAll(async () => {
    // First the receiver: what hangs there ends only so, on a clock that stands still.
    await receiver.close()
    await platform.close()
    await mail.close()
  })

  function newNotifier(): Notifier {
    return createNotifier({
      clock,
      log: createLog('test', 'silent'),
      allowPrivate: true,
      incidentUrl: receiver.url('/incident'),
      smtpUrl: new Secret(mail.url),
      // The clock leaps while a notice is under way.
      deadlineMs: 24 * 60 * minute,
    })
  }

  const call: TestPlatform['admin']['client']['call'] = (row, input) => platform.admin.client.call(row, input)

  async function point(type: string, config: Record<string, unknown>): Promise<string> {
    const { accountId } = platform
    const answer = await call(createContactPoint, { accountId, name: `Ops ${type}`, type, config })
    return answer.contactPoint.contactPointId
  }

  async function makeAlert(contactPointIds: string[], more: Record<string, unknown> = {}) {
    const { appEnvId } = await platform.makeEnvironment()
    const rule = { name: 'Busy', metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '1m' }
    const input = { appEnvId, ...rule, aggregation: 'last', contactPointIds, ...more }
    const { alertId } = (await call(createAlert, input)).alert
    return { appEnvId, alertId }
  }

  /** Cycles of 10 s with one sample each. */
  async function cycles(appEnvId: string, value: number | null, count: number): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) {
      await clock.advance(10_000)
      if (value !== null) metrics.add(appEnvId, 'cpu_percent', clock.wallMs(), value)
      await platform.alerting.evaluator.cycle()
    }
  }

  const read = (alertId: string) => call(getAlert, { alertId })
  const eventsOf = (alertId: string) => receiver.accepted.filter(({ body }) => body.alertId === alertId)

  it('contract.md 9: all four kinds hear that an alert fires, once, and that it is over', async () => {
    const ids = [
      await point('webhook', { url: receiver.url('/hook') }),
      await point('chat', { webhookUrl: receiver.url('/chat') }),
      await point('incident', { integrationKey: 'key' }),
      await point('email', { addresses: ['ops@example.com'] }),
    ]
    const { appEnvId, alertId } = await makeAlert(ids)
    const heard = (count: number) =>
      until(
        async () => receiver.accepted.length + mail.mails.length,
        (all) => all >= count,
        `${count} notices`,
      )
    await cycles(appEnvId, 95, 6)
    expect((await read(alertId)).lastKnownState).toBe('Pending')
    expect(receiver.sent).toEqual([])
    await cycles(appEnvId, 95, 10)
    await heard(4)
    expect(await read(alertId)).toMatchObject({ lastKnownState: 'Firing', currentValue: 95, unit: '%' })
    await cycles(appEnvId, 10, 3)
    await heard(8)
    const hooks = receiver.accepted.filter(({ path }) => path === '/hook').map(({ body }) => body)
    expect(hooks).toMatchObject([
      { event: 'firing', state: 'Firing', previousState: 'Pending', value: 95, alertId, appEnvId },
      {
        event: 'resolved',
        state: 'Normal',
        previousState: 'Firing',
        value: 10,
        startedAt: hooks[0].startedAt,
      },
    ])
    expect(hooks[0].eventId).not.toBe(hooks[1].eventId)
    const incidents = receiver.accepted.filter(({ path }) => path === '/incident').map(({ body }) => body)
    expect(incidents.map((body) => body.event_action)).toEqual(['trigger', 'resolve'])
    expect(incidents[0].dedup_key).toBe(incidents[1].dedup_key)
    expect(mail.mails).toHaveLength(2)
    const alert = await until(
      () => read(alertId),
      ({ notifications }) => notifications.filter(({ ok }) => ok).length === 8,
      'eight recorded notices',
    )
    expect(alert.stateHistory.map(({ to }) => to)).toEqual(['Normal', 'Firing', 'Pending'])
    expect(alert.lastStateCheck).toBe(platform.now)
  })

  it('survives a restart and a step of the wall clock in the middle of the wait, firing neither early nor twice', async () => {
    const { appEnvId, alertId } = await makeAlert([await point('webhook', { url: receiver.url('/restart') })])
    await cycles(appEnvId, 95, 5)
    const { db, secrets, log } = platform
    const parts = { db, clock, log, secrets, metrics, notifier: newNotifier(), clockScale: 1 }
    const again = createAlerting({ ...parts, apiUrl: () => platform.apiUrl })
    clock.stepWall(60 * minute)
    const turn = async (count: number) => {
      for (let index = 0; index < count; index += 1) {
        await clock.advance(10_000)
        metrics.add(appEnvId, 'cpu_percent', clock.wallMs(), 95)
        await again.evaluator.cycle()
      }
    }
    // 40 s were held before; the first cycle after the restart adds nothing.
    await turn(2)
    expect((await read(alertId)).lastKnownState).toBe('Pending')
    await turn(1)
    expect((await read(alertId)).lastKnownState).toBe('Firing')
    await turn(5)
    await until(
      async () => eventsOf(alertId).length,
      (count) => count === 1,
      'one firing notice',
    )
    await again.stop()
  })

  it('3.2: a paused alert is not evaluated and sends nothing; NoData and Error recover', async () => {
    const { appEnvId, alertId } = await makeAlert([await point('webhook', { url: receiver.url('/paused') })])
    const stateAfter = async (value: number | null) => {
      await cycles(appEnvId, value, 1)
      return (await read(alertId)).lastKnownState
    }
    expect(await stateAfter(null)).toBe('NoData')
    expect(await stateAfter(95)).toBe('Pending')
    metrics.isAway = true
    expect(await stateAfter(95)).toBe('Error')
    metrics.isAway = false
    expect(await stateAfter(10)).toBe('Normal')
    await call(toggleAlert, { alertId, enabled: false })
    const { lastStateCheck } = await read(alertId)
    await cycles(appEnvId, 95, 10)
    expect(await read(alertId)).toMatchObject({ lastKnownState: 'Normal', lastStateCheck, enabled: false })
    await call(toggleAlert, { alertId, enabled: true })
    await cycles(appEnvId, 95, 8)
    expect((await read(alertId)).lastKnownState).toBe('Firing')
    await call(deleteAlert, { alertId })
    await until(
      async () => eventsOf(alertId).map(({ body }) => body.event),
      (events) => events.length === 2,
      'a firing notice, and a resolved one for the deleted alert',
    )
    expect(eventsOf(alertId).map(({ body }) => body.event)).toEqual(['firing', 'resolved'])
  })

  it('tries again with the same event id, in order, stops at 4xx, and shows dead letters', async () => {
    const webhook = await point('webhook', { url: receiver.url('/flaky') })
    const gone = await point('webhook', { url: receiver.url('/gone') })
    const { appEnvId, alertId } = await makeAlert([webhook, gone])
    let failures = 0
    receiver.answer = ({ path }) => {
      if (path === '/gone') return { status: 410 }
      if (path !== '/flaky') return { status: 200 }
      failures += 1
      return failures <= 3 ? { status: 503 } : { status: 200 }
    }
    await cycles(appEnvId, 95, 8)
    await cycles(appEnvId, 10, 2)
    await until(
      async () => {
        await clock.advance(1_000)
        return eventsOf(alertId).map(({ body }) => body.event)
      },
      (events) => events.length === 2,
      'both notices in the end',
    )
    const flaky = receiver.sent.filter(({ path, body }) => path === '/flaky' && body.alertId === alertId)
    expect(flaky.map(({ body }) => body.event)).toEqual(['firing', 'firing', 'firing', 'firing', 'resolved'])
    expect(new Set(flaky.slice(0, 4).map(({ body }) => body.eventId)).size).toBe(1)
    const alert = await until(
      () => read(alertId),
      ({ notifications }) => notifications.length === 4,
      'four recorded notices',
    )
    const dead = alert.notifications.filter(({ contactPointId }) => contactPointId === gone)
    expect(dead).toMatchObject([
      { ok: false, reason: 'the receiver answered 410' },
      { ok: false, reason: 'the receiver answered 410' },
    ])
    receiver.answer = () => ({ status: 200 })
  })

  it('9: firing ends with the environment: the notice on its way arrives, then a resolved one', async () => {
    const webhook = await point('webhook', { url: receiver.url('/deleted') })
    const incident = await point('incident', { integrationKey: 'deleted' })
    const { appEnvId, alertId } = await makeAlert([webhook, incident])
    receiver.answer = ({ path }) => ({ status: path === '/deleted' ? 503 : 200 })
    await cycles(appEnvId, 95, 8)
    await until(
      async () => receiver.sent.filter(({ path }) => path === '/deleted').length,
      (count) => count > 0,
      'a notice that is to be sent again',
    )
    await call(deleteAppEnv, { appEnvId })
    receiver.answer = () => ({ status: 200 })
    const heard = await until(
      async () => {
        await clock.advance(1_000)
        return receiver.accepted.filter(
          ({ body }) => body.alertId === alertId || body.dedup_key === `${alertId}-1`,
        )
      },
      (all) => all.length === 4,
      'four notices',
    )
    const hooks = heard.filter(({ path }) => path === '/deleted').map(({ body }) => body)
    expect(hooks.map(({ event }) => event)).toEqual(['firing', 'resolved'])
    expect(hooks[1]).toMatchObject({ appEnvId, state: 'Normal', previousState: 'Firing', value: null })
    const incidents = heard.filter(({ path }) => path === '/incident').map(({ body }) => body)
    expect(incidents.map((body) => body.event_action)).toEqual(['trigger', 'resolve'])
  })

  it('6: a paused alert sends none; what waits goes out when it is resumed, and not once it is deleted', async () => {
    const webhook = await point('webhook', { url: receiver.url('/held') })
    const [held, dropped] = [await makeAlert([webhook]), await makeAlert([webhook])]
    receiver.answer = () => ({ status: 503 })
    for (const { appEnvId } of [held, dropped]) await cycles(appEnvId, 95, 8)
    const tried = (count: number) =>
      until(
        async () => receiver.sent.filter(({ path }) => path === '/held').length,
        (all) => all >= count,
        `${count} attempts`,
      )
    await tried(2)
    for (const { alertId } of [held, dropped]) await call(toggleAlert, { alertId, enabled: false })
    await until(
      async () => (await Promise.all([held, dropped].map(({ alertId }) => read(alertId)))).flat(),
      (alerts) => alerts.every(({ notifications }) => notifications.length === 1),
      'attempts written down',
    )
    receiver.answer = () => ({ status: 200 })
    for (let turn = 0; turn < 60; turn += 1) await clock.advance(10_000)
    await call(deleteAlert, { alertId: dropped.alertId })
    await call(toggleAlert, { alertId: held.alertId, enabled: true })
    await until(
      async () => {
        await clock.advance(1_000)
        return eventsOf(held.alertId).length
      },
      (count) => count === 1,
      'the notice that waited',
    )
    expect(eventsOf(dropped.alertId)).toEqual([])
  })

  it('lets no receiver that swallows everything delay the others', async () => {
    const hole = await point('webhook', { url: receiver.url('/hole') })
    const fine = await point('webhook', { url: receiver.url('/fine') })
    receiver.answer = ({ path }) => (path === '/hole' ? 'hang' : { status: 200 })
    const alerts = await Promise.all(Array.from({ length: 20 }, () => makeAlert([hole, fine])))
    for (let turn = 0; turn < 8; turn += 1) {
      await clock.advance(1_000)
      for (const { appEnvId } of alerts) metrics.add(appEnvId, 'cpu_percent', clock.wallMs() + 9_000, 95)
      await clock.advance(9_000)
      await platform.alerting.evaluator.cycle()
    }
    const before = clock.monotonicMs()
    await until(
      async () => receiver.accepted.filter(({ path }) => path === '/fine').length,
      (count) => count === 20,
      'every notice to the receiver that works',
    )
    expect(clock.monotonicMs()).toBe(before)
    expect(receiver.sent.filter(({ path }) => path === '/hole').length).toBeLessThanOrEqual(8)
    receiver.answer = () => ({ status: 200 })
  })

  it('test-contact-point answers whether a marked notice arrived, and with what reason it did not', async () => {
    const contactPointId = await point('webhook', { url: receiver.url('/test') })
    const good = await call(testContactPoint, { contactPointId })
    expect(good).toEqual({ delivered: true, attempts: [{ at: platform.now, ok: true }] })
    expect(receiver.accepted.at(-1)?.body).toMatchObject({ event: 'test', version: '1' })
    receiver.answer = () => ({ status: 404 })
    const bad = await call(testContactPoint, { contactPointId })
    const reason = 'the receiver answered 404'
    expect(bad).toEqual({ delivered: false, attempts: [{ at: platform.now, ok: false, reason }] })
    receiver.answer = () => ({ status: 200 })
  })
})
