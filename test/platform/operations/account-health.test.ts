import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli } from '../../../src/server/commands/run-cli.ts'
import { findEnvironment, saveEnvironment } from '../../../src/store/repositories/environments.ts'
import { insertRun } from '../../../src/store/repositories/usage.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { FakeMetrics } from '../../../testkit/fakes/metrics.ts'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

describe('the account at a glance', () => {
  const clock = new TestClock()
  const metrics = new FakeMetrics()
  let platform: TestPlatform
  beforeAll(async () => {
    platform = await TestPlatform.start({ metrics, clock })
  })
  afterAll(() => platform.close())

  // biome-ignore lint/suspicious/noExplicitAny: answers are read by their parts
  async function call(method: string, path: string, input: object, by?: TestUser): Promise<any> {
    const { token } = by ?? platform.admin
    const answer = await platform.request(method, path, { token, input: input as Record<string, unknown> })
    if (answer.status !== 200) throw new Error(`${path}: ${answer.text}`)
    return answer.json
  }

  /** An account of its own, so that counts are exact, with its admin. */
  async function account() {
    const accountId = await platform.makeAccount('Shop')
    const admin = await platform.makeUser({ accountId, admin: true })
    return { accountId, admin }
  }

  async function environment(of: { accountId: string; admin: TestUser }, name: string, image?: string) {
    const { accountId, admin } = of
    const { appId } = await call('POST', '/app', { accountId, name, port: 8080, useImage: true }, admin)
    const input = { accountId, appId, name, region: 'local', cliEnvName: name }
    const { appEnvId } = await call('POST', '/app-env', input, admin)
    if (image) await deploy(of, appEnvId, image)
    return appEnvId as string
  }

  async function deploy({ admin }: { admin: TestUser }, appEnvId: string, image: string) {
    const { version } = await call('POST', '/app-env/deploy-image', { appEnvId, image }, admin)
    await untilRead(
      async () => {
        await clock.advance(500)
        return call('GET', '/app-env/status', { appEnvId }, admin)
      },
      ({ currentDeployment: now }) => now.version === version && ['DEPLOYED', 'FAILED'].includes(now.status),
      'a finished deployment',
    )
  }

  async function firing({ admin }: { admin: TestUser }, appEnvId: string) {
    const rule = { name: 'Busy', metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '1m' }
    const { alert } = await call('POST', '/app-env/alert', { appEnvId, ...rule, contactPointIds: [] }, admin)
    for (let step = 0; step < 8; step++) {
      metrics.add(appEnvId, 'cpu_percent', clock.wallMs(), 95)
      await platform.alerting.evaluator.cycle()
      await clock.advance(10_000)
    }
    expect((await call('GET', '/alert', { alertId: alert.alertId }, admin)).lastKnownState).toBe('Firing')
    return alert.alertId as string
  }

  /** Moving the clock on would run every evaluation of an hour. */
  const saveAnHourAgo = (appEnvId: string) =>
    platform.db.write(async (tx) => {
      const environment = (await findEnvironment(tx, { appEnvId }))!
      const updatedAt = new Date(clock.wallMs() - 3_600_000).toISOString()
      await saveEnvironment(tx, { ...environment, updatedAt })
    })

  const health = (accountId: string, by: TestUser) => call('GET', '/account/health', { accountId }, by)
  const good = 'registry.example.com/good:1'
  const gone = '127.0.0.1:1/missing:1'

  it('is healthy while everything runs, and stopping on purpose is no fault', async () => {
    const shop = await account()
    await environment(shop, 'well-web', good)
    const stopped = await environment(shop, 'well-idle', good)
    await call('POST', '/app-env/stop', { appEnvId: stopped }, shop.admin)
    await environment(shop, 'well-empty')
    expect(await health(shop.accountId, shop.admin)).toEqual({
      accountId: shop.accountId,
      healthy: true,
      environments: { total: 3, running: 1, deploying: 0, stopped: 2, critical: 0, warning: 0 },
      alerts: { total: 0, firing: 0, noData: 0, error: 0 },
      regionsAway: [],
      worst: [],
      checkedAt: platform.now,
    })
  })

  it('names the worst first, with causes of the catalog, and filters environments and alerts', async () => {
    const shop = await account()
    const busy = await environment(shop, 'glance-busy', good)
    const alertId = await firing(shop, busy)
    const down = await environment(shop, 'glance-down', gone)
    const half = await environment(shop, 'glance-half', good)
    await deploy(shop, half, gone)
    const late = await environment(shop, 'glance-late', good)
    await call('PUT', '/app-env', { appEnvId: late, zClouds: 2 }, shop.admin)
    expect(
      (await health(shop.accountId, shop.admin)).worst.map((one: { envName: string }) => one.envName),
    ).not.toContain('glance-late')
    await saveAnHourAgo(late)
    const answer = await health(shop.accountId, shop.admin)
    expect(answer).toMatchObject({
      healthy: false,
      environments: { total: 4, running: 3, stopped: 1, critical: 1, warning: 2 },
      alerts: { total: 1, firing: 1 },
      worst: [
        { envName: 'glance-down', severity: 'critical', causes: ['image-pull'], firingAlerts: 0 },
        { envName: 'glance-busy', severity: 'warning', causes: [], firingAlerts: 1 },
        { envName: 'glance-half', severity: 'warning', causes: ['image-pull'], firingAlerts: 0 },
        { envName: 'glance-late', severity: 'info', causes: ['pending-change'], firingAlerts: 0 },
      ],
    })
    const { accountId, admin } = shop
    const ids = async (filter: object) =>
      (await call('GET', '/app-envs', { accountId, ...filter }, admin)).appEnvs.map(
        (one: { appEnvId: string }) => one.appEnvId,
      )
    expect(await ids({ status: 'STOPPED' })).toEqual([down])
    expect(await ids({ healthy: 'false' })).toEqual([busy, down, half])
    expect(await ids({ healthy: 'true' })).toEqual([late])
    expect(await ids({ limit: '2' })).toEqual((await ids({})).slice(0, 2))
    expect(await ids({ healthy: 'false', limit: '2' })).toEqual([busy, down])
    expect(await ids({ status: 'STOPPED', limit: '1' })).toEqual([down])
    const listed = await call('GET', '/app-env/alerts', { accountId, state: 'Firing' }, admin)
    expect(listed).toMatchObject({
      alerts: [{ alertId, envName: 'glance-busy' }],
      pagination: { limit: 200, offset: 0, total: 1, hasMore: false },
    })
  })

  it('M2 sums up and lists only what a restricted member may see', async () => {
    const shop = await account()
    const seen = await environment(shop, 'hide-seen', good)
    const hidden = await environment(shop, 'hide-hidden', good)
    const alerts = [await firing(shop, seen), await firing(shop, hidden)]
    await call('PATCH', '/account', { accountId: shop.accountId, memberEnvAccessEnabled: true }, shop.admin)
    const member = await platform.makeUser({ accountId: shop.accountId, allowedAppEnvIds: [seen] })
    expect(await health(shop.accountId, member)).toMatchObject({
      environments: { total: 1, critical: 0 },
      alerts: { total: 1, firing: 1 },
      worst: [{ envName: 'hide-seen' }],
    })
    const { accountId } = shop
    const listed = await call('GET', '/app-env/alerts', { accountId }, member)
    expect(listed.pagination.total).toBe(1)
    expect(listed.alerts.map((one: { alertId: string }) => one.alertId)).toEqual([alerts[0]])
    const unrestricted = await call('GET', '/app-env/alerts', { accountId }, shop.admin)
    expect(unrestricted.pagination.total).toBe(2)
    const noneLeft = await platform.makeUser({ accountId, allowedAppEnvIds: ['env_deleted'] })
    expect((await call('GET', '/app-env/alerts', { accountId }, noneLeft)).alerts).toEqual([])
  })

  it('4.3 pages through the alerts of an account, an app or an environment, firing ones first', async () => {
    const shop = await account()
    const { accountId, admin } = shop
    const [one, two] = [await environment(shop, 'page-one', good), await environment(shop, 'page-two', good)]
    const rule = {
      metric: 'memory_percent',
      operator: 'gt',
      threshold: 80,
      duration: '5m',
      contactPointIds: [],
    }
    for (const [appEnvId, name] of [
      [one, 'a'],
      [two, 'b'],
      [one, 'c'],
    ] as const) {
      await clock.advance(1_000)
      await call('POST', '/app-env/alert', { appEnvId, name, ...rule }, admin)
    }
    await clock.advance(1_000)
    const last = await firing(shop, two)
    const page = async (input: object) => {
      const { alerts, pagination } = await call('GET', '/app-env/alerts', input, admin)
      return { names: alerts.map((alert: { name: string }) => alert.name), pagination }
    }
    expect(await page({ accountId, limit: 2 })).toEqual({
      names: ['Busy', 'a'],
      pagination: { limit: 2, offset: 0, total: 4, hasMore: true },
    })
    expect(await page({ accountId, limit: 2, offset: 2 })).toEqual({
      names: ['b', 'c'],
      pagination: { limit: 2, offset: 2, total: 4, hasMore: false },
    })
    const { appId } = await call('GET', '/app-env', { appEnvId: two }, admin)
    expect((await page({ appId })).names).toEqual(['Busy', 'b'])
    expect(await page({ appEnvId: one })).toEqual({ names: ['a', 'c'], pagination: undefined })
    expect((await page({ appEnvId: one, limit: 1 })).pagination).toMatchObject({ total: 2, hasMore: true })
    // A paused alert keeps its last state, which says nothing any more.
    await call('POST', '/alert/toggle', { alertId: last, enabled: false }, admin)
    expect((await page({ accountId, state: 'Firing' })).names).toEqual([])
    expect((await page({ accountId })).names).toEqual(['a', 'b', 'c', 'Busy'])
    const bare = await platform.request('GET', '/app-env/alerts', { token: admin.token, input: {} })
    expect(bare.status).toBe(400)
  })

  it('bills an account for what ran in the range, of the environments that the caller may see', async () => {
    const { accountId, admin } = await account()
    const [one, two] = [
      await environment({ accountId, admin }, 'bill-one'),
      await environment({ accountId, admin }, 'bill-two'),
    ]
    const at = (seconds: number) => clock.wallMs() - seconds * 1_000
    const run = (
      appEnvId: string,
      zClouds: number,
      rateMultiplier: number,
      from: number,
      to: number | null,
    ) =>
      platform.db.write((tx) =>
        insertRun(tx, {
          container: `${appEnvId} ${from}`,
          appEnvId,
          accountId,
          zClouds,
          rateMultiplier,
          startedMs: at(from),
          finishedMs: to === null ? null : at(to),
        }),
      )
    await run(one, 2, 1, 120, null)
    await run(one, 1, 1, 900, 700)
    await run(two, 1, 3, 30, 10)
    const usage = (from: number, by: TestUser) =>
      call('GET', '/account/usage', { accountId, from: new Date(at(from)).toISOString() }, by)
    expect(await usage(60, admin)).toEqual({
      accountId,
      containerSeconds: 80,
      zCloudSeconds: 140,
      billedZCloudSeconds: 180,
    })
    await call('PATCH', '/account', { accountId, memberEnvAccessEnabled: true }, admin)
    const member = await platform.makeUser({ accountId, allowedAppEnvIds: [two] })
    expect(await usage(60, member)).toMatchObject({ containerSeconds: 20, billedZCloudSeconds: 60 })
    for (const from of [-5, 32 * 86_400]) await expect(usage(from, admin)).rejects.toThrow('31 days')
  })

  it('answers an agent within 500 tokens, with ten environments whose names are as long as they may be', async () => {
    const shop = await account()
    for (let index = 0; index < 12; index++) {
      const name = `${'q7x-'.repeat(14)}env-${index}`.slice(0, 63)
      const appEnvId = await environment(shop, name, gone)
      await call('PUT', '/app-env', { appEnvId, zClouds: 2 }, shop.admin)
      await saveAnHourAgo(appEnvId)
    }
    const session = await openToolSession(platform.apiUrl, { token: shop.admin.token })
    const { text, structured } = await session.call('get-account-health', { accountId: shop.accountId })
    await session.close()
    expect(text).toMatch(/^12 of 12 environments critical, 0 with a warning; 0 alerts firing\./)
    expect(encode(text).length).toBeLessThanOrEqual(500)
    expect((structured as { worst: unknown[] }).worst.length).toBeGreaterThan(3)
  })

  it('longshore why without an environment and accounts health say the same', async () => {
    const shop = await account()
    await environment(shop, 'cli-down', gone)
    await deploy(shop, await environment(shop, 'cli-half', good), gone)
    const run = async (...argv: string[]) => {
      let out = ''
      const stdout = {
        write: (text: string) => {
          out += text
        },
      }
      const io = { stdout, stderr: stdout, onInterrupt: () => () => {}, ask: async () => null }
      const env = { LONGSHORE_URL: platform.apiUrl, LONGSHORE_TOKEN: shop.admin.token }
      expect(await runCli(argv, env, io as never), out).toBe(0)
      return out
    }
    expect(await run('why')).toBe(
      [
        '✗ 2 environments: 1 running, 0 deploying, 1 stopped; 1 critical, 1 with a warning',
        '  0 alerts: 0 firing',
        '✗ cli-down  image-pull',
        '! cli-half  image-pull, version 2 failed, an earlier one serves',
        'longshore why ENVIRONMENT shows the evidence and the fix.',
        '',
      ].join('\n'),
    )
    expect(await run('accounts', 'health')).toBe(await run('why'))
  })
})
