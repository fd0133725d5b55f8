import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deleteAlert, toggleAlert } from '../../../src/contract/alerts.ts'
import { updateContactPoint } from '../../../src/contract/contact-points.ts'
import { AlertingFixture } from '../../../testkit/alerting/fixture.ts'
import { untilRead } from '../../../testkit/until.ts'

describe('delivery of notifications', () => {
  let fixture: AlertingFixture
  let { clock, metrics, receiver, platform } = {} as AlertingFixture
  beforeAll(async () => {
    fixture = await AlertingFixture.start()
    ;({ clock, metrics, receiver, platform } = fixture)
  })
  afterAll(() => fixture.close())
  const call: AlertingFixture['call'] = (row, input) => fixture.call(row, input)
  const point = (type: string, config: Record<string, unknown>) => fixture.point(type, config)
  const makeAlert = (contactPointIds: string[]) => fixture.makeAlert(contactPointIds)
  const cycles = (appEnvId: string, value: number | null, count: number) =>
    fixture.cycles(appEnvId, value, count)
  const read = (alertId: string) => fixture.read(alertId)
  const eventsOf = (alertId: string) => fixture.eventsOf(alertId)

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
    await untilRead(
      async () => {
        await clock.advance(1_000)
        return eventsOf(alertId).map(({ body }) => body.event)
      },
      (events) => events.length === 2,
      'both notifications in the end',
    )
    const flaky = receiver.sent.filter(({ path, body }) => path === '/flaky' && body.alertId === alertId)
    expect(flaky.map(({ body }) => body.event)).toEqual(['firing', 'firing', 'firing', 'firing', 'resolved'])
    expect(new Set(flaky.slice(0, 4).map(({ body }) => body.eventId)).size).toBe(1)
    const alert = await untilRead(
      () => read(alertId),
      ({ notifications }) => notifications.length === 4,
      'four recorded notifications',
    )
    const dead = alert.notifications.filter(({ contactPointId }) => contactPointId === gone)
    expect(dead).toMatchObject([
      { ok: false, reason: 'the receiver answered 410' },
      { ok: false, reason: 'the receiver answered 410' },
    ])
    receiver.answer = () => ({ status: 200 })
  })

  it('3.2: a paused alert sends none; what waits goes out when it is resumed, and not once it is deleted', async () => {
    const webhook = await point('webhook', { url: receiver.url('/held') })
    const [held, dropped] = [await makeAlert([webhook]), await makeAlert([webhook])]
    receiver.answer = () => ({ status: 503 })
    for (const { appEnvId } of [held, dropped]) await cycles(appEnvId, 95, 8)
    const tried = (count: number) =>
      untilRead(
        async () => receiver.sent.filter(({ path }) => path === '/held').length,
        (all) => all >= count,
        `${count} attempts`,
      )
    await tried(2)
    for (const { alertId } of [held, dropped]) await call(toggleAlert, { alertId, enabled: false })
    await untilRead(
      async () => (await Promise.all([held, dropped].map(({ alertId }) => read(alertId)))).flat(),
      (alerts) => alerts.every(({ notifications }) => notifications.length === 1),
      'attempts written down',
    )
    receiver.answer = () => ({ status: 200 })
    for (let turn = 0; turn < 60; turn += 1) await clock.advance(10_000)
    await call(deleteAlert, { alertId: dropped.alertId })
    await call(toggleAlert, { alertId: held.alertId, enabled: true })
    await untilRead(
      async () => {
        await clock.advance(1_000)
        return eventsOf(held.alertId).length
      },
      (count) => count === 1,
      'the notification that waited',
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
    await untilRead(
      async () => receiver.accepted.filter(({ path }) => path === '/fine').length,
      (count) => count === 20,
      'every notification to the receiver that works',
    )
    expect(clock.monotonicMs()).toBe(before)
    expect(receiver.sent.filter(({ path }) => path === '/hole').length).toBeLessThanOrEqual(8)
    receiver.answer = () => ({ status: 200 })
  })

  it('4.2: the next notification uses the changed contact point', async () => {
    const contactPointId = await point('webhook', { url: receiver.url('/before') })
    const { alertId, appEnvId } = await makeAlert([contactPointId])
    await cycles(appEnvId, 95, 8)
    const heard = (count: number) =>
      untilRead(
        async () => eventsOf(alertId).length,
        (all) => all === count,
        `${count} notifications`,
      )
    await heard(1)
    await call(updateContactPoint, { contactPointId, config: { url: receiver.url('/after') } })
    await cycles(appEnvId, 10, 2)
    await heard(2)
    expect(eventsOf(alertId).map(({ path, body }) => [path, body.event])).toEqual([
      ['/before', 'firing'],
      ['/after', 'resolved'],
    ])
  })

  it('waits as long as a 429 with Retry-After asks, and no shorter than its own back-off', async () => {
    const { alertId, appEnvId } = await makeAlert([await point('webhook', { url: receiver.url('/busy') })])
    receiver.answer = () => ({ status: 429, headers: { 'retry-after': '600' } })
    await cycles(appEnvId, 95, 8)
    const sent = () => receiver.sent.filter(({ path }) => path === '/busy').length
    const told = await untilRead(
      () => read(alertId),
      ({ notifications }) => notifications.length === 1,
      'an attempt written down',
    )
    expect(told.notifications[0]).toMatchObject({ ok: false, reason: 'the receiver answered 429' })
    receiver.answer = () => ({ status: 200 })
    for (let second = 0; second < 590; second += 5) await clock.advance(5_000)
    expect(sent()).toBe(1)
    await untilRead(
      async () => {
        await clock.advance(5_000)
        return eventsOf(alertId).length
      },
      (count) => count === 1,
      'the notification',
    )
    expect(sent()).toBe(2)
  })

  it('gives up after 24 h of trying, and get-alert shows the dead letter with its reason', async () => {
    const { alertId, appEnvId } = await makeAlert([await point('webhook', { url: receiver.url('/down') })])
    receiver.answer = ({ path }) => (path === '/down' ? 'reset' : { status: 200 })
    await cycles(appEnvId, 95, 8)
    const first = await untilRead(
      async () => (await read(alertId)).notifications[0],
      (notification) => notification !== undefined,
      'a first attempt',
    )
    expect(first).toMatchObject({ ok: false, reason: 'the receiver broke the connection' })
    // The day but for half an hour is behind it.
    const spent_ms = 24 * 3_600_000 - 1_800_000
    await platform.db.write((tx) =>
      tx.updateTable('notifications').set({ spent_ms }).where('alert_id', '=', alertId).execute(),
    )
    const began = clock.monotonicMs()
    const dead = await untilRead(
      async () => {
        await clock.advance(30_000)
        return (await read(alertId)).notifications[0]
      },
      (notification) => notification?.reason?.startsWith('given up') === true,
      'a dead letter',
    )
    expect(dead).toMatchObject({
      ok: false,
      reason: 'given up after 24 h: the receiver broke the connection',
    })
    expect(clock.monotonicMs() - began).toBeGreaterThan(15 * 60_000)
    // Sockets take real time, in which the clock goes on here: far less than another day is what counts.
    expect(clock.monotonicMs() - began).toBeLessThan(6 * 3_600_000)
    const attempts = receiver.sent.filter(({ path }) => path === '/down').length
    expect(attempts).toBeGreaterThan(5)
    receiver.answer = () => ({ status: 200 })
    for (let turn = 0; turn < 30; turn += 1) await clock.advance(60_000)
    expect(receiver.sent.filter(({ path }) => path === '/down')).toHaveLength(attempts)
  })
})
