import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyAudit } from '../../../src/store/verify-audit.ts'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'

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
const newest = async (objectId: string) => (await audit({ objectId, limit: 1 })).entries[0]
/** Without the reads of secrets that `envOf` makes. */
const lastEntry = async (objectId: string) =>
  (await audit({ objectId })).entries.find(
    (entry: { operation: string }) => !entry.operation.startsWith('get-'),
  )
const undo = async (objectId: string) => {
  const { entryId } = await lastEntry(objectId)
  return call('POST', '/audit/undo', { entryId })
}
const envOf = async (appEnvId: string) => (await call('GET', '/app-env', { appEnvId, decrypt: true })).json

describe('list-audit', () => {
  it('lists caller, change and origin, with secrets masked, newest first', async () => {
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
      ...{ objectType: 'app-env', objectId: appEnvId, outcome: 'done', clientAddress: '127.0.0.1' },
    })
    expect(entry.changes.map((change: { path: string }) => change.path)).toEqual([
      'envVars.TOKEN',
      'envVars.COLOR',
    ])
    expect(JSON.stringify(entry)).not.toContain('c4n4ry')
    expect(entry.changes[1].after).toContain('red')
  })

  it('A3 records who read secrets in clear or was refused, without the values, and no other read', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const before = await newest(appEnvId)
    await call('GET', '/app-env', { appEnvId })
    expect(await newest(appEnvId)).toEqual(before)
    expect((await call('GET', '/app-env', { appEnvId, decrypt: true }, member.token)).status).toBe(403)
    expect(await newest(appEnvId)).toMatchObject({ operation: 'get-app-env', outcome: 'refused' })
    await envOf(appEnvId)
    const { userId } = platform.admin
    const read = await newest(appEnvId)
    expect(read).toMatchObject({
      operation: 'get-app-env',
      outcome: 'done',
      principal: { id: userId },
      changes: [],
    })
    const undone = await call('POST', '/audit/undo', { entryId: read.entryId })
    expect(undone.json.details).toContain('It changed nothing.')
    const config = { url: 'https://hooks.example.com/1' }
    const { json } = await call('POST', '/contact-point', {
      accountId: platform.accountId,
      name: 'Ops',
      type: 'webhook',
      config,
    })
    const { contactPointId } = json.contactPoint
    await call('GET', '/contact-point', { contactPointId, showSecrets: true })
    const shown = await newest(contactPointId)
    expect(shown).toMatchObject({ operation: 'get-contact-point', changes: [] })
  })

  it('pages without lost or repeated entries, and is for admins', async () => {
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

  it('records refused writes of known callers as refused, and of dry runs the refused ones only', async () => {
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
    await platform.request('POST', '/app-env/token', {
      token: member.token,
      input: { appEnvId },
      headers: { 'dry-run': 'true' },
    })
    expect((await audit({ objectId: appEnvId })).entries).toHaveLength(before + 1)
  })

  it('records once what a tool is refused, also where a read or a dry run refuses it first', async () => {
    const accountId = await platform.makeAccount('Restricted', { memberEnvAccessEnabled: true })
    const owner = await platform.makeUser({ accountId, admin: true })
    const open = await platform.makeEnvironment({ accountId, by: owner.client })
    const closed = await platform.makeEnvironment({ accountId, by: owner.client })
    const restricted = await platform.makeUser({ accountId, allowedAppEnvIds: [open.appEnvId] })
    const session = await openToolSession(platform.apiUrl, { token: restricted.token })
    const { appEnvId } = closed
    for (const [name, input] of [
      ['restart-app-env', { appEnvId }],
      ['delete-app-env', { appEnvId, confirm: 'x' }],
      ['update-app-env-variables', { appEnvId, unset: ['A'] }],
      ['update-member-env-access', { accountId, membershipId: restricted.membershipId }],
      ['delete-app', { appId: closed.appId, confirm: 'x' }],
      ['get-app-env', { appEnvId }],
    ] as const)
      expect((await session.call(name, input)).text, name).toMatch(/Access denied|access|admin/i)
    await session.close()
    const { entries } = await call('GET', '/audit', { accountId }, owner.token).then(({ json }) => json)
    const refused = entries.filter((entry: { outcome: string }) => entry.outcome === 'refused')
    expect(
      refused.map((entry: { operation: string; surface: string }) => [entry.operation, entry.surface]),
    ).toEqual(
      [
        'delete-app',
        'update-member-env-access',
        'update-app-env-variables',
        'delete-app-env',
        'restart-app-env',
      ].map((operation) => [operation, 'mcp']),
    )
  })
})

describe('undo-change', () => {
  it('restores variables, including secrets, and does not change others', async () => {
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
    // An undo is an ordinary change, so it can be undone.
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

  it('is rejected for irreversible changes, with the reason, and changes nothing', async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
    expect((await undo(appEnvId)).json.details).toContain('Delete the object instead')
    await call('PATCH', '/app-env/containers', { appEnvId, containers: 2 })
    const { entryId } = await lastEntry(appEnvId)
    await call('PATCH', '/app-env/containers', { appEnvId, containers: 3 })
    const overtaken = await call('POST', '/audit/undo', { entryId })
    expect(overtaken.status).toBe(400)
    expect(overtaken.json.details).toMatch(/Fields changed again since: containers/)
    expect((await envOf(appEnvId)).containers).toBe(3)
    await call('POST', '/app-env/deploy-image', { appEnvId, image: 'registry.example.com/app:1' })
    const refusal = (await undo(appEnvId)).json.details
    expect(refusal).toMatch(/deployment.*redeploy-app-env/)
    const { entries } = await audit({ objectId: appEnvId })
    expect(JSON.stringify([refusal, entries])).not.toMatch(/RolloutId/)
    await call('DELETE', '/app-env', { appEnvId })
    expect((await call('POST', '/audit/undo', { entryId })).json.details).toContain('deleted')
    expect((await undo(appEnvId)).json.details).toContain('deletions are permanent')
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
  const verify = (heads: string[] = []) => platform.db.read((tx) => verifyAudit(tx, heads))

  it('verifies, and reveals a changed, a removed and a truncated entry', async () => {
    await call('POST', '/account', { name: 'Another chain' })
    const whole = await verify()
    expect(whole.chains.length).toBeGreaterThan(1)
    expect(whole.chains.map(({ broken }) => broken)).toEqual(whole.chains.map(() => null))
    const mine = whole.chains.find(({ accountId }) => accountId === platform.accountId)!
    const rows = await platform.db.read((tx) =>
      tx
        .selectFrom('audit_log')
        .selectAll()
        .where('account_id', '=', platform.accountId)
        .orderBy('seq')
        .execute(),
    )
    const victim = rows[3]!
    const chainOf = async () =>
      (await verify([mine.head])).chains.find(({ accountId }) => accountId === platform.accountId)!
    const set = (values: Partial<typeof victim>) =>
      platform.db.write((tx) =>
        tx.updateTable('audit_log').set(values).where('seq', '=', victim.seq).execute(),
      )
    await set({ principal: 'usr_somebody' })
    expect((await chainOf()).broken?.entryId).toBe(victim.entry_id)
    await set({ principal: victim.principal })
    expect((await chainOf()).broken).toBeNull()
    await platform.db.write((tx) => tx.deleteFrom('audit_log').where('seq', '=', victim.seq).execute())
    expect((await chainOf()).broken?.entryId).toBe(rows[4]!.entry_id)
    await platform.db.write((tx) => tx.insertInto('audit_log').values(victim).execute())
    await platform.db.write((tx) => tx.deleteFrom('audit_log').where('seq', '=', rows.at(-1)!.seq).execute())
    expect((await chainOf()).broken).toBeNull()
    expect((await verify([mine.head])).missingHeads).toEqual([mine.head])
  })
})
