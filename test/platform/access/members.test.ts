import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
let manager: TestUser
let member: TestUser
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  manager = await platform.makeUser({ manageMembers: true })
  member = await platform.makeUser()
})
afterAll(() => platform.close())

const call = (method: string, path: string, by: { token: string }, input: Record<string, unknown> = {}) =>
  platform.request(method, path, { token: by.token, input })
const setAccess = (membershipId: string, allowedAppEnvIds: string[] | undefined, by = platform.admin) =>
  call('PATCH', '/member/env-access', by, {
    accountId: platform.accountId,
    membershipId,
    ...(allowedAppEnvIds ? { allowedAppEnvIds } : {}),
  })
const enable = (memberEnvAccessEnabled: boolean) =>
  call('PATCH', '/account', platform.admin, { accountId: platform.accountId, memberEnvAccessEnabled })
const appEnvIdsOf = async (by: { token: string }) =>
  (await call('GET', '/app-envs', by, { accountId: platform.accountId })).json.appEnvs.map(
    (env: { appEnvId: string }) => env.appEnvId,
  )

describe('update-account', () => {
  it('M8 lets Manage Members change per-environment access, and no other setting', async () => {
    const { accountId } = platform
    const on = await call('PATCH', '/account', manager, { accountId, memberEnvAccessEnabled: true })
    expect(on.status).toBe(200)
    expect(on.json.account.settings.memberEnvAccessEnabled).toBe(true)
    await enable(false)
    for (const more of [{ name: 'Mine' }, { zCloudLimit: 9 }, { settings: { zCloudLimit: 9 } }]) {
      const answer = await call('PATCH', '/account', manager, {
        accountId,
        memberEnvAccessEnabled: true,
        ...more,
      })
      expect(answer.status).toBe(403)
      expect(answer.json.error).toBe('Admin permission required')
    }
    expect(
      (await call('PATCH', '/account', member, { accountId, memberEnvAccessEnabled: true })).status,
    ).toBe(403)
  })

  it('keeps settings within bounds and free of contradictions', async () => {
    const { accountId } = platform
    const bad = [
      { functionMinIdleTimeoutSeconds: 299 },
      { functionMaxScale: 2, functionDefaultMaxScale: 3 },
      { functionDefaultMaxScale: 11 },
      { zCloudLimit: 0 },
      {},
    ]
    for (const settings of bad) {
      const answer = await call('PATCH', '/account', platform.admin, { accountId, ...settings })
      expect(answer.status, JSON.stringify(settings)).toBe(400)
    }
    const good = await call('PATCH', '/account', platform.admin, {
      accountId,
      name: 'Renamed',
      functionMaxScale: 20,
      settings: { zCloudLimit: 128, functionMaxScale: 5 },
    })
    expect(good.json.account).toMatchObject({
      name: 'Renamed',
      settings: { functionMaxScale: 20, zCloudLimit: 128 },
    })
    const stale = await call('PATCH', '/account', platform.admin, {
      accountId,
      name: 'x',
      expectedRevision: 1,
    })
    expect([stale.status, stale.json.error]).toEqual([409, 'Revision conflict'])
  })
})

describe('members', () => {
  it('A4 adds a new user with a token shown once, and a known user without one', async () => {
    const { accountId } = platform
    const added = await call('POST', '/member', manager, { accountId, email: 'New@Example.com', name: 'New' })
    expect(added.status).toBe(200)
    expect(added.json.token).toMatch(/^lsu_/)
    const who = await call('GET', '/user', added.json)
    expect(who.json).toMatchObject({ email: 'new@example.com', name: 'New' })
    const other = await call('POST', '/account', platform.admin, { name: 'Second' })
    const known = await call('POST', '/member', platform.admin, {
      accountId: other.json.accountId,
      email: 'new@example.com',
      name: 'Ignored',
    })
    expect(known.json).toMatchObject({ token: null, invitationId: expect.stringMatching(/^inv_/) })
    const twice = await call('POST', '/member', manager, { accountId, email: 'new@example.com', name: 'New' })
    expect(twice.status).toBe(400)
    expect((await call('GET', '/accounts', added.json)).json.accounts).toHaveLength(1)
    const listed = await call('GET', '/members', manager, { accountId })
    expect(listed.json.members.at(-1)).toMatchObject({
      email: 'new@example.com',
      admin: false,
      manageMembers: false,
      access: 'full',
      allowedAppEnvIds: [],
      invited: false,
    })
  })

  it('takes no e-mail address with invisible characters', async () => {
    const { accountId } = platform
    for (const hidden of ['\u200b', '\u202e', '\u00ad', '\u0085', '\u{e0041}']) {
      const email = `new${hidden}@example.com`
      const answer = await call('POST', '/member', manager, { accountId, email, name: 'New' })
      expect([hidden.codePointAt(0), answer.status]).toEqual([hidden.codePointAt(0), 400])
    }
  })

  it('callers cannot grant a permission that they lack, and managers cannot remove an admin', async () => {
    const { accountId } = platform
    const body = { accountId, email: 'boss@example.com', name: 'Boss' }
    expect((await call('POST', '/member', manager, { ...body, admin: true })).status).toBe(403)
    expect((await call('POST', '/member', member, body)).status).toBe(403)
    const { membershipId } = platform.admin
    expect((await call('DELETE', '/member', manager, { accountId, membershipId })).status).toBe(403)
  })

  it('keeps the last admin, and removing a member deletes only the membership', async () => {
    const { accountId, admin } = platform
    const last = await call('DELETE', '/member', admin, { accountId, membershipId: admin.membershipId })
    expect([last.status, last.json.error]).toEqual([400, 'The last admin cannot be removed'])
    const leaver = await platform.makeUser()
    const { appEnvId } = await platform.makeEnvironment({ by: leaver.client })
    const removed = await call('DELETE', '/member', manager, { accountId, membershipId: leaver.membershipId })
    expect(removed.json).toEqual({ message: 'Member removed' })
    expect((await call('GET', '/user', leaver)).status).toBe(200)
    expect((await call('GET', '/app-env', leaver, { appEnvId })).status).toBe(404)
    expect((await call('GET', '/app-env', admin, { appEnvId })).status).toBe(200)
  })

  it('answers unknown and foreign memberships with the same bytes', async () => {
    const stranger = await platform.makeUser({ accountId: await platform.makeAccount('Elsewhere') })
    const { accountId } = platform
    const foreign = await call('GET', '/member/env-access', manager, {
      accountId,
      membershipId: stranger.membershipId,
    })
    const unknown = await call('GET', '/member/env-access', manager, {
      accountId,
      membershipId: 'mem_unknown',
    })
    expect(foreign.status).toBe(404)
    expect(foreign.text).toBe(unknown.text)
  })
})

describe('per-environment access', () => {
  it('M5 restricts no member until configured, and saved lists survive turning it off and on', async () => {
    const one = await platform.makeEnvironment()
    const two = await platform.makeEnvironment()
    const user = await platform.makeUser()
    await enable(true)
    expect(await appEnvIdsOf(user)).toEqual(expect.arrayContaining([one.appEnvId, two.appEnvId]))
    const set = await setAccess(user.membershipId, [one.appEnvId, one.appEnvId], manager)
    expect(set.json).toMatchObject({
      accountId: platform.accountId,
      membershipId: user.membershipId,
      enabled: true,
      access: 'restricted',
      allowedAppEnvIds: [one.appEnvId],
    })
    expect(await appEnvIdsOf(user)).toEqual([one.appEnvId])
    await enable(false)
    expect((await appEnvIdsOf(user)).length).toBeGreaterThan(1)
    await enable(true)
    expect(await appEnvIdsOf(user)).toEqual([one.appEnvId])
    expect((await setAccess(user.membershipId, undefined)).json.access).toBe('full')
    expect((await appEnvIdsOf(user)).length).toBeGreaterThan(1)
    await enable(false)
  })

  it('2.8 M1 M5 a list that loses its last environment still restricts and does not grant full access', async () => {
    const kept = await platform.makeEnvironment()
    const gone = await platform.makeEnvironment()
    const user = await platform.makeUser()
    await enable(true)
    await setAccess(user.membershipId, [gone.appEnvId])
    await call('DELETE', '/app-env', platform.admin, { appEnvId: gone.appEnvId })
    expect(await appEnvIdsOf(user)).toEqual([])
    expect((await call('GET', '/app-env', user, { appEnvId: kept.appEnvId })).status).toBe(403)
    const read = await call('GET', '/member/env-access', platform.admin, {
      accountId: platform.accountId,
      membershipId: user.membershipId,
    })
    expect(read.json).toMatchObject({ access: 'restricted', allowedAppEnvIds: [gone.appEnvId] })
    // A read list can be written back, and still restricts.
    expect((await setAccess(user.membershipId, read.json.allowedAppEnvIds)).status).toBe(200)
    expect(await appEnvIdsOf(user)).toEqual([])
    await enable(false)
  })

  it('rejects ids of other accounts by name, and changes nothing', async () => {
    const user = await platform.makeUser()
    const stranger = await platform.makeUser({
      accountId: await platform.makeAccount('Foreign'),
      admin: true,
    })
    const accounts = (await call('GET', '/accounts', stranger)).json.accounts
    const foreign = await platform.makeEnvironment({ by: stranger.client, accountId: accounts[0].accountId })
    const answer = await setAccess(user.membershipId, [foreign.appEnvId, 'env_nonsense'])
    expect(answer.status).toBe(400)
    expect(answer.json.details).toContain(foreign.appEnvId)
    expect(answer.json.details).toContain('env_nonsense')
  })

  it('M4 M6 a restricted manager creates into their own list, and configures environments they cannot see', async () => {
    const hidden = await platform.makeEnvironment()
    const own = await platform.makeEnvironment()
    const restricted = await platform.makeUser({ manageMembers: true })
    const other = await platform.makeUser()
    await enable(true)
    await setAccess(restricted.membershipId, [own.appEnvId])
    const { accountId } = platform
    const created = await platform.makeEnvironment({
      by: restricted.client,
      appId: own.appId,
      environment: { name: 'more' },
    })
    expect((await appEnvIdsOf(restricted)).sort()).toEqual([own.appEnvId, created.appEnvId].sort())
    expect((await call('GET', '/app-env', restricted, { appEnvId: hidden.appEnvId })).status).toBe(403)
    expect((await setAccess(other.membershipId, [hidden.appEnvId], restricted)).status).toBe(200)
    const listed = await call('GET', '/members', restricted, { accountId, withAppEnvs: true })
    expect(listed.json.appEnvs.map((env: { appEnvId: string }) => env.appEnvId)).toContain(hidden.appEnvId)
    await enable(false)
  })

  it('M3 hides apps without an accessible environment, also by id', async () => {
    const accessible = await platform.makeEnvironment()
    const hidden = await platform.makeEnvironment()
    const user = await platform.makeUser()
    await enable(true)
    await setAccess(user.membershipId, [accessible.appEnvId])
    const { apps } = (await call('GET', '/apps', user, { accountId: platform.accountId })).json
    expect(apps.map((app: { appId: string }) => app.appId)).toEqual([accessible.appId])
    expect((await call('GET', '/app', user, { appId: hidden.appId })).status).toBe(403)
    await enable(false)
  })
})

describe('delete-app', () => {
  it('is rejected while environments exist, and is recorded in the audit log', async () => {
    const { appId, appEnvId } = await platform.makeEnvironment()
    const refused = await call('DELETE', '/app', platform.admin, { appId })
    expect([refused.status, refused.json.error]).toEqual([400, 'App has environments'])
    await call('DELETE', '/app-env', platform.admin, { appEnvId })
    expect((await call('DELETE', '/app', platform.admin, { appId })).status).toBe(200)
    expect((await call('GET', '/app', platform.admin, { appId })).status).toBe(404)
    const audit = await call('GET', '/audit', platform.admin, {
      accountId: platform.accountId,
      objectId: appId,
    })
    expect(audit.json.entries[0]).toMatchObject({
      operation: 'delete-app',
      outcome: 'done',
      objectType: 'app',
    })
  })
})

describe('explain-access', () => {
  it('M1 M2 M5 explains permissions with rules, and shows members only themselves', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const other = await platform.makeEnvironment()
    const restricted = await platform.makeUser({ allowedAppEnvIds: [other.appEnvId] })
    await enable(true)
    const all = (await call('GET', '/app-env/access', manager, { appEnvId })).json
    const of = (user: TestUser) =>
      all.members.find((one: { membershipId: string }) => one.membershipId === user.membershipId)
    expect(all).toMatchObject({ appEnvId, enabled: true, complete: true })
    expect(of(restricted)).toMatchObject({ operates: false, seesSecrets: false, configuresAccess: false })
    expect(of(restricted).because[0]).toMatch(/^M2/)
    expect(of(platform.admin)).toMatchObject({ operates: true, seesSecrets: true, configuresAccess: true })
    expect(of(manager)).toMatchObject({ operates: true, seesSecrets: false, configuresAccess: true })
    const own = (await call('GET', '/app-env/access', member, { appEnvId })).json
    expect(own.complete).toBe(false)
    expect(own.members.map((one: { email: string }) => one.email)).toEqual([member.email])
    expect((await call('GET', '/app-env/access', restricted, { appEnvId })).status).toBe(403)
    await enable(false)
    const off = (await call('GET', '/app-env/access', restricted, { appEnvId })).json
    expect(off.members[0]).toMatchObject({ operates: true })
  })
})
