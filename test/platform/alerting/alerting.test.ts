import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAlerting } from '../../../src/alerting/alerting.ts'
import { deleteAlert, refreshAlert, toggleAlert } from '../../../src/contract/alerts.ts'
import { deleteAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { testContactPoint } from '../../../src/contract/contact-points.ts'
import { AlertingFixture, publicUrl } from '../../../testkit/alerting/fixture.ts'
import { untilRead } from '../../../testkit/until.ts'

const minute = 60_000

describe('alerting', () => {
  let fixture: AlertingFixture
  let { clock, metrics, receiver, mail, platform } = {} as AlertingFixture
  beforeAll(async () => {
    fixture = await AlertingFixture.start()
    ;({ clock, metrics, receiver, mail, platform } = fixture)
  })
  afterAll(() => fixture.close())
  const call: AlertingFixture['call'] = (row, input) => fixture.call(row, input)
  const point = (type: string, config: Record<string, unknown>) => fixture.point(type, config)
  const makeAlert = (contactPointIds: string[]) => fixture.makeAlert(contactPointIds)
  const cycles = (appEnvId: string, value: number | null, count: number) =>
    fixture.cycles(appEnvId, value, count)
  const read = (alertId: string) => fixture.read(alertId)
  const eventsOf = (alertId: string) => fixture.eventsOf(alertId)

  it('3.2: all four kinds of contact points are notified once when an alert fires and once when it ends', async () => {
    const ids = [
      await point('webhook', { url: receiver.url('/hook') }),
      await point('chat', { webhookUrl: receiver.url('/chat') }),
      await point('incident', { integrationKey: 'key' }),
      await point('email', { addresses: ['ops@example.com'] }),
    ]
    const { appEnvId, alertId } = await makeAlert(ids)
    const heard = (count: number) =>
      untilRead(
        async () => receiver.accepted.length + mail.mails.length,
        (all) => all >= count,
        `${count} notifications`,
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
    // A page that a person can open, not a path of the API.
    const { cliEnvName } = await platform.admin.client.call(getAppEnv, { appEnvId })
    for (const { url } of hooks) {
      expect(url).toBe(`${publicUrl}/console/environments/${cliEnvName}/alerts/${alertId}`)
    }
    expect(hooks[0].eventId).not.toBe(hooks[1].eventId)
    const incidents = receiver.accepted.filter(({ path }) => path === '/incident').map(({ body }) => body)
    expect(incidents.map((body) => body.event_action)).toEqual(['trigger', 'resolve'])
    expect(incidents[0].dedup_key).toBe(incidents[1].dedup_key)
    expect(mail.mails).toHaveLength(2)
    const alert = await untilRead(
      () => read(alertId),
      ({ notifications }) => notifications.filter(({ ok }) => ok).length === 8,
      'eight recorded notifications',
    )
    expect(alert.stateHistory.map(({ to }) => to)).toEqual(['Normal', 'Firing', 'Pending'])
    expect(alert.lastStateCheck).toBe(platform.now)
  })

  it('survives a restart and a step of the wall clock in the middle of the wait, firing neither early nor twice', async () => {
    const { appEnvId, alertId } = await makeAlert([await point('webhook', { url: receiver.url('/restart') })])
    await cycles(appEnvId, 95, 5)
    const { db, secrets, log } = platform
    const deps = { db, clock, log, secrets, metrics, notifier: fixture.newNotifier(), clockScale: 1 }
    const again = createAlerting({ ...deps, publicUrl: () => publicUrl })
    clock.stepWall(60 * minute)
    const cyclesAfterRestart = async (count: number) => {
      for (let index = 0; index < count; index += 1) {
        await clock.advance(10_000)
        metrics.add(appEnvId, 'cpu_percent', clock.wallMs(), 95)
        await again.evaluator.cycle()
      }
    }
    // 40 s were held before; the first cycle after the restart adds nothing.
    await cyclesAfterRestart(2)
    expect((await read(alertId)).lastKnownState).toBe('Pending')
    await cyclesAfterRestart(1)
    expect((await read(alertId)).lastKnownState).toBe('Firing')
    await cyclesAfterRestart(5)
    await untilRead(
      async () => eventsOf(alertId).length,
      (count) => count === 1,
      'one firing notification',
    )
    await again.stop()
  })

  it('3.2: a refresh between two cycles neither counts nor restarts the wait', async () => {
    const { appEnvId, alertId } = await makeAlert([
      await point('webhook', { url: receiver.url('/refreshed') }),
    ])
    for (let count = 0; count < 7; count += 1) {
      await cycles(appEnvId, 95, 1)
      const { state } = await call(refreshAlert, { alertId })
      expect(state).toBe(count < 6 ? 'Pending' : 'Firing')
    }
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
    await untilRead(
      async () => eventsOf(alertId).map(({ body }) => body.event),
      (events) => events.length === 2,
      'a firing notification, and a resolved one for the deleted alert',
    )
    expect(eventsOf(alertId).map(({ body }) => body.event)).toEqual(['firing', 'resolved'])
  })

  it('firing ends with the environment: the pending notification arrives, then a resolved one', async () => {
    const webhook = await point('webhook', { url: receiver.url('/deleted') })
    const incident = await point('incident', { integrationKey: 'deleted' })
    const { appEnvId, alertId } = await makeAlert([webhook, incident])
    receiver.answer = ({ path }) => ({ status: path === '/deleted' ? 503 : 200 })
    await cycles(appEnvId, 95, 8)
    await untilRead(
      async () => receiver.sent.filter(({ path }) => path === '/deleted').length,
      (count) => count > 0,
      'a notification to be sent again',
    )
    await call(deleteAppEnv, { appEnvId })
    receiver.answer = () => ({ status: 200 })
    const heard = await untilRead(
      async () => {
        await clock.advance(1_000)
        return receiver.accepted.filter(
          ({ body }) => body.alertId === alertId || body.dedup_key === `${alertId}-1`,
        )
      },
      (all) => all.length === 4,
      'four notifications',
    )
    const hooks = heard.filter(({ path }) => path === '/deleted').map(({ body }) => body)
    expect(hooks.map(({ event }) => event)).toEqual(['firing', 'resolved'])
    expect(hooks[1]).toMatchObject({ appEnvId, state: 'Normal', previousState: 'Firing', value: null })
    const incidents = heard.filter(({ path }) => path === '/incident').map(({ body }) => body)
    expect(incidents.map((body) => body.event_action)).toEqual(['trigger', 'resolve'])
  })

  it('test-contact-point returns whether a test notification arrived, and otherwise the reason', async () => {
    const contactPointId = await point('webhook', { url: receiver.url('/test') })
    const good = await call(testContactPoint, { contactPointId })
    expect(good).toEqual({ delivered: true, attempts: [{ at: platform.now, ok: true }] })
    expect(receiver.accepted.at(-1)?.body).toMatchObject({
      event: 'test',
      version: '1',
      url: `${publicUrl}/console/contact-points`,
    })
    receiver.answer = () => ({ status: 404 })
    const bad = await call(testContactPoint, { contactPointId })
    const reason = 'the receiver answered 404'
    expect(bad).toEqual({ delivered: false, attempts: [{ at: platform.now, ok: false, reason }] })
    receiver.answer = () => ({ status: 200 })
  })
})
