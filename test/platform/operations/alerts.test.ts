import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { FakeMetrics } from '../../../testkit/fakes/metrics.ts'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'

const rule = { name: 'Busy', metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '5m' }

describe('alerts', () => {
  const clock = new TestClock()
  const metrics = new FakeMetrics()
  let platform: TestPlatform
  let member: TestUser
  let stranger: TestUser
  let appEnvId: string
  let functionEnvId: string
  let contactPointId: string
  beforeAll(async () => {
    platform = await TestPlatform.start({ reconciles: false, metrics, clock })
    member = await platform.makeUser()
    stranger = await platform.makeUser({ accountId: await platform.makeAccount('Other'), admin: true })
    appEnvId = (await platform.makeEnvironment()).appEnvId
    functionEnvId = (await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })).appEnvId
    const created = await call('POST', '/contact-point', {
      accountId: platform.accountId,
      name: 'Ops',
      type: 'email',
      config: { addresses: ['ops@example.com'] },
    })
    contactPointId = created.json.contactPoint.contactPointId
  })
  afterAll(() => platform.close())

  const call = (
    method: string,
    path: string,
    input: Record<string, unknown>,
    by = platform.admin,
    headers: Record<string, string> = {},
  ) => platform.request(method, path, { token: by.token, input, headers })
  const create = (given: Record<string, unknown> = {}) =>
    call('POST', '/app-env/alert', { appEnvId, ...rule, contactPointIds: [contactPointId], ...given })

  it('4.3 creates with defaults, answers exactly what is documented, and reads it back with its details', async () => {
    const created = await create({ description: 'Look at the workers.' })
    expect(created.status, created.text).toBe(200)
    const { alert, message } = created.json
    expect(message).toContain('created')
    expect(alert).toEqual({
      alertId: expect.stringMatching(/^alr_/),
      ...rule,
      aggregation: 'mean',
      queryRange: '10m',
      enabled: true,
      lastKnownState: 'Normal',
      contactPoints: [{ contactPointId, name: 'Ops', type: 'email' }],
    })
    metrics.add(appEnvId, 'cpu_percent', clock.wallMs(), 42)
    const read = await call('GET', '/alert', { alertId: alert.alertId }, member)
    expect(read.json).toEqual({
      ...alert,
      appEnvId,
      accountId: platform.accountId,
      description: 'Look at the workers.',
      contactPointIds: [contactPointId],
      lastStateCheck: null,
      region: 'local',
      createdAt: platform.now,
      updatedAt: platform.now,
      revision: 1,
      currentValue: 42,
      unit: '%',
      stateHistory: [],
      notifications: [],
    })
    const listed = await call('GET', '/app-env/alerts', { appEnvId }, member)
    const { currentValue: _v, unit: _u, stateHistory: _s, notifications: _n, ...plain } = read.json
    expect(listed.json).toEqual({ alerts: [plain] })
  })

  it('2.7, 8.alert-name and 8.alert-description reject invalid fields', async () => {
    const wrong: Record<string, unknown>[] = [
      { name: '' },
      { name: 'x'.repeat(101) },
      { description: 'x'.repeat(501) },
      { metric: 'disk' },
      { operator: 'eq' },
      { threshold: '80' },
      { duration: '2m' },
      { aggregation: 'sum' },
      { queryRange: '3h' },
      { contactPointIds: 'cp' },
      { nope: 1 },
    ]
    for (const given of wrong) {
      const answer = await create(given)
      expect(answer.status, JSON.stringify(given)).toBe(400)
      expect(answer.json.details).toContain(Object.keys(given)[0])
    }
    for (const field of ['name', 'metric', 'operator', 'threshold', 'duration', 'contactPointIds']) {
      expect((await create({ [field]: undefined })).json.details).toContain(field)
    }
    expect((await create({ name: 'x'.repeat(100), description: 'y'.repeat(500) })).status).toBe(200)
  })

  it('F9 refuses CPU and memory metrics on functions with the remedy, on create and update', async () => {
    const refused = await create({ appEnvId: functionEnvId, metric: 'memory_usage_per_pod' })
    expect(refused.status).toBe(400)
    expect(refused.headers.get('longshore-rule')).toBe('F9')
    expect(refused.json.details).toContain('ingress_p95_latency')
    const created = await create({ appEnvId: functionEnvId, metric: 'ingress_5xx_percent', threshold: 5 })
    expect(created.status).toBe(200)
    const { alertId } = created.json.alert
    expect((await call('PATCH', '/alert', { alertId, metric: 'cpu_usage' })).status).toBe(400)
  })

  it('4.3 rejects unknown contact points and those of another account with the same response', async () => {
    const { accountId } = (await platform.request('GET', '/accounts', { token: stranger.token })).json
      .accounts[0]
    const config = { addresses: ['x@example.com'] }
    const foreign = await call(
      'POST',
      '/contact-point',
      { accountId, name: 'Theirs', type: 'email', config },
      stranger,
    )
    const theirs = foreign.json.contactPoint.contactPointId
    for (const id of [theirs, 'cp_nobody']) {
      const refused = await create({ contactPointIds: [contactPointId, id] })
      expect(refused.status).toBe(400)
      expect(refused.json.error).toBe('Contact point not found')
      expect(refused.json.details).toContain(id)
    }
  })

  it('3.2 updates, pauses and resumes; the response shows the pause', async () => {
    const { alertId } = (await create()).json.alert
    const updated = await call('PATCH', '/alert', { alertId, threshold: 90, name: 'Busier', enabled: false })
    expect(updated.json.alert).toMatchObject({ threshold: 90, name: 'Busier', enabled: false, revision: 2 })
    const resumed = await call('POST', '/alert/toggle', { alertId, enabled: true })
    expect(resumed.json).toEqual({ message: expect.stringContaining('resumed'), enabled: true })
    expect((await call('POST', '/alert/toggle', { alertId, enabled: true })).status).toBe(200)
    const stale = await call('PATCH', '/alert', { alertId, name: 'x', expectedRevision: 1 })
    expect(stale.status).toBe(409)
    const read = await call('GET', '/alert', { alertId })
    const back = await call('PATCH', '/alert', { ...read.json, threshold: 91 })
    expect(back.status, back.text).toBe(200)
    expect((await call('DELETE', '/alert', { alertId })).json.message).toContain('deleted')
    expect((await call('GET', '/alert', { alertId })).status).toBe(404)
  })

  it('a refresh evaluates now, for any member, and does not count towards the duration', async () => {
    const { alertId } = (await create({ metric: 'memory_percent' })).json.alert
    const refresh = async () => (await call('POST', '/alert/refresh', { alertId }, member)).json
    expect(await refresh()).toEqual({
      state: 'NoData',
      previousState: 'Normal',
      lastStateCheck: platform.now,
    })
    metrics.add(appEnvId, 'memory_percent', clock.wallMs(), 95)
    expect(await refresh()).toMatchObject({ state: 'Pending', previousState: 'NoData' })
    for (let turn = 0; turn < 50; turn += 1) expect((await refresh()).state).toBe('Pending')
    metrics.isAway = true
    expect(await refresh()).toMatchObject({ state: 'Error', previousState: 'Pending' })
    expect((await call('GET', '/alert', { alertId })).json).toMatchObject({ currentValue: null })
    metrics.isAway = false
    await call('POST', '/alert/toggle', { alertId, enabled: false })
    expect(await refresh()).toMatchObject({ state: 'Error', previousState: 'Error' })
    const { stateHistory } = (await call('GET', '/alert', { alertId })).json
    expect(stateHistory).toEqual([
      { from: 'Pending', to: 'Error', at: platform.now, value: null },
      { from: 'NoData', to: 'Pending', at: platform.now, value: 95 },
      { from: 'Normal', to: 'NoData', at: platform.now, value: null },
    ])
  })

  it('A3 allows writes to admins only', async () => {
    const { alertId } = (await create()).json.alert
    const writes: [string, string, Record<string, unknown>][] = [
      ['POST', '/app-env/alert', { appEnvId, ...rule, contactPointIds: [] }],
      ['PATCH', '/alert', { alertId, name: 'x' }],
      ['POST', '/alert/toggle', { alertId, enabled: false }],
      ['DELETE', '/alert', { alertId }],
    ]
    for (const [method, path, input] of writes) {
      const answer = await call(method, path, input, member)
      expect(answer, path).toMatchObject({ status: 403, json: { error: 'Admin permission required' } })
    }
  })

  it('answers for another account byte for byte as for an unknown id', async () => {
    const { alertId } = (await create()).json.alert
    for (const [method, path, more] of [
      ['GET', '/alert', {}],
      ['PATCH', '/alert', { name: 'x' }],
      ['DELETE', '/alert', {}],
      ['POST', '/alert/toggle', { enabled: true }],
      ['POST', '/alert/refresh', {}],
    ] as const) {
      const foreign = await call(method, path, { alertId, ...more }, stranger)
      const unknown = await call(method, path, { alertId: 'alr_nobody', ...more }, stranger)
      expect(foreign.status).toBe(404)
      expect(foreign.text).toBe(unknown.text)
    }
  })

  it('M2 hides alerts of environments that a restricted member cannot access', async () => {
    const accountId = await platform.makeAccount('Strict', { memberEnvAccessEnabled: true })
    const admin = await platform.makeUser({ accountId, admin: true })
    const open = await platform.makeEnvironment({ by: admin.client, accountId })
    const hidden = await platform.makeEnvironment({ by: admin.client, accountId })
    const restricted = await platform.makeUser({ accountId, allowedAppEnvIds: [open.appEnvId] })
    const make = async (id: string) =>
      (await call('POST', '/app-env/alert', { appEnvId: id, ...rule, contactPointIds: [] }, admin)).json.alert
    const [reachable, refused] = [await make(open.appEnvId), await make(hidden.appEnvId)]
    expect((await call('GET', '/alert', { alertId: reachable.alertId }, restricted)).status).toBe(200)
    for (const [method, path] of [
      ['GET', '/alert'],
      ['POST', '/alert/refresh'],
    ] as const) {
      expect((await call(method, path, { alertId: refused.alertId }, restricted)).status).toBe(403)
    }
    expect((await call('GET', '/app-env/alerts', { appEnvId: hidden.appEnvId }, restricted)).status).toBe(403)
  })

  it('previews with Dry-Run over the stored values, and warns of a threshold in another unit', async () => {
    const { appEnvId: id } = await platform.makeEnvironment()
    await clock.advance(3_600_000)
    const start = clock.wallMs() - 1_800_000
    for (let t = start; t <= clock.wallMs(); t += 10_000) {
      const isBusy = t - start > 300_000 && t - start < 900_000
      metrics.add(id, 'cpu_usage', t, isBusy ? 400 : 20)
    }
    const dry = { 'dry-run': 'true' }
    const input = {
      appEnvId: id,
      ...rule,
      metric: 'cpu_usage',
      threshold: 80,
      duration: '1m',
      queryRange: '5m',
      contactPointIds: [],
    }
    const { json } = await call('POST', '/app-env/alert', input, platform.admin, dry)
    expect(Object.keys(json)).toEqual(['dryRun', 'changes', 'effects', 'preview', 'impact', 'policy'])
    expect(json.preview.samples).toBe(181)
    expect(json.preview.wouldHaveFired).toHaveLength(1)
    const [fired] = json.preview.wouldHaveFired
    expect(Date.parse(fired.at)).toBeGreaterThan(start + 300_000 + 60_000)
    expect(Date.parse(fired.at)).toBeLessThan(start + 900_000)
    expect(fired.value).toBeGreaterThan(80)
    expect(json.preview.noDataShare).toBeCloseTo(0.5, 1)
    expect(json.effects.join(' ')).toContain('Would have fired once')
    expect(json.effects.join(' ')).toContain('80 on cpu_usage is 80 millicores')
    expect((await call('GET', '/app-env/alerts', { appEnvId: id })).json.alerts).toEqual([])
    const { alertId } = (await call('POST', '/app-env/alert', { ...input, threshold: 450 })).json.alert
    const again = await call('PATCH', '/alert', { alertId, threshold: 100 }, platform.admin, dry)
    expect(again.json.preview.wouldHaveFired).toHaveLength(1)
    expect((await call('GET', '/alert', { alertId })).json.threshold).toBe(450)
  })

  it('undo-change restores an alert and a contact point', async () => {
    const { alertId } = (await create()).json.alert
    const { accountId } = platform
    const undoLast = async (objectId: string) => {
      const audit = await call('GET', '/audit', { accountId, objectId, limit: 1 })
      return call('POST', '/audit/undo', { entryId: audit.json.entries[0].entryId })
    }
    await call('PATCH', '/alert', { alertId, threshold: 99, enabled: false })
    const undone = await undoLast(alertId)
    expect(undone.status, undone.text).toBe(200)
    expect((await call('GET', '/alert', { alertId })).json).toMatchObject({ threshold: 80, enabled: true })
    await call('PATCH', '/contact-point', { contactPointId, config: { addresses: ['new@example.com'] } })
    expect((await undoLast(contactPointId)).status).toBe(200)
    const shown = await call('GET', '/contact-point', { contactPointId, showSecrets: true })
    expect(shown.json.config).toEqual({ addresses: ['ops@example.com'] })
  })

  it('is deleted with its environment', async () => {
    const { appEnvId: id } = await platform.makeEnvironment()
    const { alertId } = (await create({ appEnvId: id })).json.alert
    await call('DELETE', '/app-env', { appEnvId: id })
    expect((await call('GET', '/alert', { alertId })).status).toBe(404)
  })
})
