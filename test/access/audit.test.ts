import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyJournal } from '../../src/store/verify-journal.ts'
import { TestPlatform, type TestUser } from '../support/test-platform.ts'

let platform: TestPlatform
let member: TestUser
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  member = await platform.makeUser()
})
afterAll(() => platform.close())

const call = (
  method: string,
  path: string,
  input: Record<string, unknown> = {},
  token = platform.admin.token,
) => platform.request(method, path, { token, input })
const audit = async (more: Record<string, unknown> = {}) =>
  (await call('GET', '/audit', { accountId: platform.accountId, ...more })).json
const lastEntry = async (objectId: string) => (await audit({ objectId, limit: 1 })).entries[0]
const undo = async (objectId: string) => {
  const { entryId } = await lastEntry(objectId)
  return call('POST', '/audit/undo', { entryId })
}
const envOf = async (appEnvId: string) => (await call('GET', '/app-env', { appEnvId, decrypt: true })).json

describe('list-audit', () => {
  it('says who changed what from where, with secrets masked, newest first', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    await platform.request('PATCH', '/app-env/variables', {
      token: member.token,
      input: {
        appEnvId,
        set: [
          { name: 'TOKEN', value: 'c4n4ry' },
          { name: 'COLOR', value: 'red', isSecret: false },
        ],
      },
      headers: { 'longshore-surface': 'mcp' },
    })
    const entry = await lastEntry(appEnvId)
    expect(entry).toMatchObject({
      principal: { kind: 'user', id: member.userId, email: member.email },
      surface: 'mcp',
      operation: 'update-app-env-variables',
      objectType: 'app-env',
      objectId: appEnvId,
      outcome: 'done',
    })
    expect(entry.changes.map((change: { path: string }) => change.path)).toEqual([
      'envVars.TOKEN',
      'envVars.COLOR',
    ])
    expect(JSON.stringify(entry)).not.toContain('c4n4ry')
    expect(entry.changes[1].after).toContain('red')
  })

  it('pages without loss or repeat, and is for admins', async () => {
    const all = (await audit({ limit: 200 })).entries
    const paged = []
    let cursor: string | null = null
    do {
      const page = await audit({ limit: 2, ...(cursor ? { cursor } : {}) })
      paged.push(...page.entries)
      cursor = page.cursor
    } while (cursor)
    expect(paged).toEqual(all)
    expect((await call('GET', '/audit', { accountId: platform.accountId }, member.token)).status).toBe(403)
  })

  it('records refused writes of known callers as refused, and dry runs not at all', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    await call('POST', '/app-env/token', { appEnvId }, member.token)
    expect(await lastEntry(appEnvId)).toMatchObject({
      operation: 'rotate-app-env-token',
      outcome: 'refused',
      principal: { id: member.userId },
      changes: [],
    })
    const { cliEnvName } = await envOf(appEnvId)
    await call('POST', '/app-env/token', { envName: cliEnvName }, member.token)
    const refused = (await audit({ objectId: appEnvId })).entries.filter(
      (entry: { outcome: string }) => entry.outcome === 'refused',
    )
    expect(refused).toHaveLength(2)
    const before = (await audit({ objectId: appEnvId })).entries.length
    await platform.request('PATCH', '/app-env/containers', {
      token: platform.admin.token,
      input: { appEnvId, containers: 2 },
      headers: { 'dry-run': 'true' },
    })
    expect((await audit({ objectId: appEnvId })).entries).toHaveLength(before)
  })
})

describe('undo-change', () => {
  it('puts variables back, secret ones too, and leaves others as they are', async () => {
    const envVars = [
      { name: 'A', value: 'one' },
      { name: 'B', value: 'two', isSecret: false },
    ]
    const { appEnvId } = await platform.makeEnvironment({ environment: { envVars } })
    await call('PATCH', '/app-env/variables', {
      appEnvId,
      set: [
        { name: 'A', value: 'changed' },
        { name: 'C', value: 'new' },
      ],
      unset: ['B'],
    })
    const done = await undo(appEnvId)
    expect(done.status).toBe(200)
    expect(done.json.objectId).toBe(appEnvId)
    const env = await envOf(appEnvId)
    expect(env.envVars.map(({ name, value }: { name: string; value: string }) => [name, value])).toEqual([
      ['A', 'one'],
      ['B', 'two'],
    ])
    expect(env.pendingChanges.hasDeployChanges).toBe(false)
    expect(await lastEntry(appEnvId)).toMatchObject({ operation: 'undo-change', outcome: 'done' })
    // An undo is a change like any other: it can be undone.
    expect((await undo(appEnvId)).status).toBe(200)
    expect((await envOf(appEnvId)).envVars.map(({ name }: { name: string }) => name)).toEqual(['A', 'C'])
  })

  it('undoes scale, autoscaling, function settings, names, access lists and account settings', async () => {
    const app = await platform.makeEnvironment()
    const fn = await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })
    await call('PATCH', '/app-env/containers', { appEnvId: app.appEnvId, containers: 3 })
    expect((await undo(app.appEnvId)).status).toBe(200)
    expect((await envOf(app.appEnvId)).containers).toBe(1)
    await call('PATCH', '/app-env/autoscaling', { appEnvId: app.appEnvId, enabled: true, maxContainers: 5 })
    expect((await undo(app.appEnvId)).status).toBe(200)
    expect((await envOf(app.appEnvId)).autoscaling).toMatchObject({ enabled: false, maxContainers: 3 })
    await call('PUT', '/app-env', { appEnvId: app.appEnvId, name: 'renamed' })
    expect((await undo(app.appEnvId)).status).toBe(200)
    expect(await envOf(app.appEnvId)).toMatchObject({ name: 'prod', slug: 'prod' })
    await call('PATCH', '/app-env/function-config', {
      appEnvId: fn.appEnvId,
      maxScale: 7,
      applyImmediately: true,
    })
    expect((await undo(fn.appEnvId)).status).toBe(200)
    expect((await envOf(fn.appEnvId)).functionConfig.maxScale).toBe(3)
    const { accountId } = platform
    const user = await platform.makeUser({ allowedAppEnvIds: [app.appEnvId] })
    await call('PATCH', '/member/env-access', { accountId, membershipId: user.membershipId })
    expect((await undo(user.membershipId)).status).toBe(200)
    const access = await call('GET', '/member/env-access', { accountId, membershipId: user.membershipId })
    expect(access.json.allowedAppEnvIds).toEqual([app.appEnvId])
    await call('PATCH', '/account', { accountId, zCloudLimit: 640 })
    expect((await undo(accountId)).status).toBe(200)
    const { accounts } = (await call('GET', '/accounts')).json
    expect(accounts[0].settings.zCloudLimit).toBe(64)
  })

  it('is refused where it cannot be, says why, and changes nothing', async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
    expect((await undo(appEnvId)).json.details).toContain('delete it instead')
    await call('PATCH', '/app-env/containers', { appEnvId, containers: 2 })
    const { entryId } = await lastEntry(appEnvId)
    await call('PATCH', '/app-env/containers', { appEnvId, containers: 3 })
    const overtaken = await call('POST', '/audit/undo', { entryId })
    expect(overtaken.status).toBe(400)
    expect(overtaken.json.details).toMatch(/Changed again since: containers/)
    expect((await envOf(appEnvId)).containers).toBe(3)
    await call('POST', '/app-env/deploy-image', { appEnvId, image: 'registry.example.com/app:1' })
    expect((await undo(appEnvId)).json.details).toContain('redeploy-app-env')
    await call('DELETE', '/app-env', { appEnvId })
    expect((await call('POST', '/audit/undo', { entryId })).json.details).toContain('deleted')
    expect((await undo(appEnvId)).json.details).toContain('is gone')
  })

  it('answers foreign and unknown entries with the same bytes, and is for admins', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const { entryId } = await lastEntry(appEnvId)
    const other = await platform.makeUser({ accountId: await platform.makeAccount('Far'), admin: true })
    const foreign = await call('POST', '/audit/undo', { entryId }, other.token)
    const unknown = await call('POST', '/audit/undo', { entryId: 'aud_unknown' }, other.token)
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
    expect((await call('POST', '/audit/undo', { entryId }, member.token)).status).toBe(403)
  })
})

describe('the chain of hashes', () => {
  const verify = (heads: string[] = []) => platform.db.read((tx) => verifyJournal(tx, heads))

  it('is whole, and finds a changed, a removed and a cut-off entry', async () => {
    await call('POST', '/account', { name: 'Another chain' })
    const whole = await verify()
    expect(whole.chains.length).toBeGreaterThan(1)
    expect(whole.chains.map(({ broken }) => broken)).toEqual(whole.chains.map(() => null))
    const mine = whole.chains.find(({ accountId }) => accountId === platform.accountId)!
    const rows = await platform.db.read((tx) =>
      tx
        .selectFrom('journal')
        .selectAll()
        .where('account_id', '=', platform.accountId)
        .orderBy('seq')
        .execute(),
    )
    const victim = rows[3]!
    const chainOf = async () =>
      (await verify([mine.head])).chains.find(({ accountId }) => accountId === platform.accountId)!
    const set = (values: Partial<typeof victim>) =>
      platform.db.write((tx) => tx.updateTable('journal').set(values).where('seq', '=', victim.seq).execute())
    await set({ principal: 'usr_somebody' })
    expect((await chainOf()).broken?.entryId).toBe(victim.entry_id)
    await set({ principal: victim.principal })
    expect((await chainOf()).broken).toBeNull()
    await platform.db.write((tx) => tx.deleteFrom('journal').where('seq', '=', victim.seq).execute())
    expect((await chainOf()).broken?.entryId).toBe(rows[4]!.entry_id)
    await platform.db.write((tx) => tx.insertInto('journal').values(victim).execute())
    await platform.db.write((tx) => tx.deleteFrom('journal').where('seq', '=', rows.at(-1)!.seq).execute())
    expect((await chainOf()).broken).toBeNull()
    expect((await verify([mine.head])).missingHeads).toEqual([mine.head])
  })
})
