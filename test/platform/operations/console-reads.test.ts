import { afterAll, beforeAll, expect, it } from 'vitest'
import { keepStateChange } from '../../../src/alerting/state-history.ts'
import type { PodRecord } from '../../../src/domain/environments/environment.ts'
import { RolloutWriter } from '../../../src/regions/rollouts/writer.ts'
import { listContainerCounts } from '../../../src/store/repositories/container-counts.ts'
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

it('shows how many containers should run and were ready, kept on change only, for 35 days', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const day = 24 * 60 * 60_000
  const writer = new RolloutWriter(platform.db, () => clock.wallMs())
  const pod = { appEnvId, podId: `pod_${appEnvId}`, rolloutId: 'rol_1', createdAt: '' }
  const made = { ...pod, name: 'one', region: 'local', contentId: 'dep_1', restartCount: 0 }
  const starting = { ...made, desiredState: 'run', status: 'Pending', ready: false } as PodRecord
  expect(await writer.addPod(starting)).toBe(true)
  await clock.advance(2 * 60_000)
  await writer.savePod({ ...starting, status: 'Running', ready: true })
  await writer.savePod({ ...starting, status: 'Running', ready: true, restartCount: 1 })
  await clock.advance(3 * 60_000)
  const series = async () => (await read('/app-env/container-series', { appEnvId, step: 60 })).json.points
  const newest = (await series()).slice(-5) as { desired: number; ready: number }[]
  expect(newest.map(({ desired, ready }) => `${desired} ${ready}`)).toEqual([
    '1 0',
    '1 0',
    '1 1',
    '1 1',
    '1 1',
  ])
  const stored = () => platform.db.read((tx) => listContainerCounts(tx, appEnvId, 0))
  expect(await stored()).toMatchObject([
    { desired: 1, ready: 0 },
    { desired: 1, ready: 1 },
  ])
  await clock.advance(40 * day)
  await writer.savePod({ ...starting, desiredState: 'end', ready: false })
  expect(await stored()).toMatchObject([
    { desired: 1, ready: 1 },
    { desired: 0, ready: 0 },
  ])
  expect((await series()).at(-2)).toMatchObject({ desired: 1, ready: 1 })
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

it('lists the state changes of an alert in pages, keeps those of 31 days but at least 20, and at most 2,000', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const rule = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '1m', contactPointIds: [] }
  const input = { appEnvId, name: 'CPU', ...rule }
  const created = await platform.request('POST', '/app-env/alert', { token: platform.admin.token, input })
  const { alertId } = created.json.alert
  const bornMs = clock.wallMs()
  const at = (ms: number) => new Date(bornMs + ms).toISOString()
  const keep = (version: number, ms: number) =>
    platform.db.write((tx) => {
      const change = { from: 'Normal', to: 'Firing', at: at(ms), value: version } as const
      return keepStateChange(tx, { alertId, appEnvId, version }, change)
    })
  const list = async (page: object = {}) =>
    (await read('/alert/state-changes', { alertId, ...page })).json as {
      changes: { value: number }[]
      completeFrom: string
      pagination: { total: number }
    }
  for (let version = 1; version <= 30; version += 1) await keep(version, version * 1_000)
  const whole = await list({ limit: 25, offset: 10 })
  expect(whole).toMatchObject({ completeFrom: at(0), pagination: { total: 30 } })
  expect(whole.changes.map(({ value }) => value)).toEqual(
    Array.from({ length: 20 }, (_, index) => 20 - index),
  )
  const some = await list({ from: at(28_000) })
  expect(some.changes.map(({ value }) => value)).toEqual([30, 29, 28])
  expect(some.pagination.total).toBe(3)
  await clock.advance(40 * 86_400_000)
  await keep(31, clock.wallMs() - bornMs)
  const later = await list({ limit: 40 })
  expect(later.changes.map(({ value }) => value).slice(-2)).toEqual([13, 12])
  expect(later.completeFrom).toBe(new Date(clock.wallMs() - 31 * 86_400_000).toISOString())
  await platform.db.write(async (tx) => {
    const row = {
      alert_id: alertId,
      app_env_id: appEnvId,
      at: at(0),
      from_state: 'Normal',
      to_state: 'Firing',
    }
    const rows = Array.from({ length: 1_990 }, (_, index) => ({ ...row, version: 100 + index, value: null }))
    for (const one of rows)
      await tx
        .insertInto('alert_history')
        .values({ ...one, at: new Date(clock.wallMs()).toISOString() })
        .execute()
  })
  await keep(3_000, clock.wallMs() - bornMs)
  const full = await list({ limit: 1, offset: 1_999 })
  expect(full.pagination.total).toBe(2_000)
  expect(full.changes).toHaveLength(1)
})
