import { afterAll, beforeAll, expect, it } from 'vitest'
import { insertRun } from '../../../src/store/repositories/usage.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const clock = new TestClock()
let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ clock, reconciles: false })
})
afterAll(() => platform.close())

const read = (path: string, input: Record<string, unknown>) =>
  platform.request('GET', path, { token: platform.admin.token, input })

it('shows how many containers ran over time, from the creation of the environment on', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const { accountId } = platform
  const bornMs = clock.wallMs()
  const minute = 60_000
  await platform.db.write(async (tx) => {
    const of = { appEnvId, accountId, zClouds: 1, rateMultiplier: 1 }
    await insertRun(tx, { ...of, container: 'a', startedMs: bornMs + minute, finishedMs: null })
    await insertRun(tx, {
      ...of,
      container: 'b',
      startedMs: bornMs + 2 * minute,
      finishedMs: bornMs + 3 * minute,
    })
  })
  await clock.advance(10 * minute)
  const { points } = (await read('/app-env/container-series', { appEnvId, step: 60 })).json
  expect(points.length).toBeGreaterThanOrEqual(10)
  expect(points.length).toBeLessThanOrEqual(12)
  const total = (of: 'started' | 'startedFromZero') =>
    points.reduce((sum: number, point: Record<string, number>) => sum + point[of]!, 0)
  expect([total('started'), total('startedFromZero')]).toEqual([2, 1])
  expect(Math.max(...points.map(({ most }: { most: number }) => most))).toBe(2)
  expect(points.at(-1)).toMatchObject({ least: 1, most: 1 })
  const day = 24 * 60 * minute
  const from = (ms: number) => new Date(clock.wallMs() - ms).toISOString()
  const old = await read('/app-env/container-series', { appEnvId, from: from(36 * day) })
  expect([old.status, old.json.details]).toEqual([400, expect.stringContaining('get-app-env-usage')])
  const many = await read('/app-env/container-series', { appEnvId, from: from(34 * day), step: 1 })
  expect(many.json.details).toMatch(/Set step to \d+ or more/)
})

it('A3 lists every attempted notification of an alert in pages, newest first', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const created = await platform.request('POST', '/app-env/alert', {
    token: platform.admin.token,
    input: {
      appEnvId,
      name: 'CPU',
      metric: 'cpu_percent',
      operator: 'gt',
      threshold: 80,
      duration: '1m',
      contactPointIds: [],
    },
  })
  expect(created.status, created.text).toBe(200)
  const { alertId } = created.json.alert
  await platform.db.write(async (tx) => {
    for (let number = 0; number < 45; number += 1) {
      const at = new Date(clock.wallMs() + number * 1_000).toISOString()
      await tx
        .insertInto('notifications')
        .values({
          notification_id: `ntc_${number}`,
          event_id: `evt_${number}`,
          alert_id: alertId,
          app_env_id: appEnvId,
          account_id: platform.accountId,
          contact_point_id: 'cp_gone',
          event: 'firing',
          ordinal: number,
          dedup_key: 'key',
          body: '{}',
          status: number === 44 ? 'dead' : 'delivered',
          // The oldest waits for its first attempt.
          attempts: number === 0 ? 0 : 1,
          spent_ms: 0,
          next_at_ms: 0,
          last_at: number === 0 ? null : at,
          reason: number === 44 ? 'the receiver answered 500' : null,
          created_at: at,
        })
        .execute()
    }
  })
  const pages = []
  for (const offset of [0, 20, 40]) {
    const { json } = await read('/alert/notifications', { alertId, offset })
    expect(json.pagination).toEqual({ limit: 20, offset, total: 44, hasMore: offset < 40 })
    pages.push(...json.notifications)
  }
  expect(pages).toHaveLength(44)
  expect(pages[0]).toMatchObject({ ok: false, reason: 'the receiver answered 500' })
  const times = pages.map(({ at }) => at)
  expect(times).toEqual([...new Set(times)].sort().reverse())
})
