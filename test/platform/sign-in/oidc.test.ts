import { rmSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Secret } from '../../../src/log.ts'
import { makeConsoleShell } from '../../../testkit/console/shell.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { OidcProvider } from '../../../testkit/sign-in/oidc-provider.ts'
import { WebClient } from '../../../testkit/sign-in/web-client.ts'

describe('sign-in by OpenID Connect', () => {
  const shell = makeConsoleShell()
  let provider: OidcProvider
  let platform: TestPlatform
  const startWith = (rest: Record<string, unknown> = {}) => {
    const client = { clientId: 'longshore', clientSecret: new Secret('shh'), name: 'Example' }
    const oidc = { issuer: provider.issuer, ...client, domains: [], groups: [], ...rest }
    return TestPlatform.start({ reconciles: false, consoleDir: shell, oidc })
  }
  beforeAll(async () => {
    provider = await OidcProvider.start()
    platform = await startWith()
  })
  afterAll(async () => {
    await platform.close()
    await provider.close()
    rmSync(shell, { recursive: true })
  })
  afterEach(() => {
    provider.wrong = {}
    provider.signsWithOtherKey = false
  })

  const browser = (of = platform) => new WebClient(of.apiUrl)
  const begin = async (client: WebClient, next = '') => {
    const answer = await client.send('GET', `/console/oidc${next}`)
    expect(answer.status).toBe(302)
    return answer.headers.get('location')!
  }
  const pathOf = ({ pathname, search }: URL) => pathname + search
  /** The whole way of a person with these claims. */
  async function signIn(claims: Record<string, unknown>, client = browser()) {
    provider.person = claims
    const back = provider.authorize(await begin(client))
    const answer = await client.send('GET', pathOf(back))
    return { client, status: answer.status, back, text: await answer.text() }
  }
  const verified = (email: string, sub = `sub-${email}`) => ({ sub, email, email_verified: true })
  const users = (of = platform) => of.db.read((tx) => tx.selectFrom('users').selectAll().execute())

  it('sign-in: binds a person to the user of the verified address, later by subject', async () => {
    const person = await platform.makeUser()
    const before = (await users()).length
    const first = await signIn(verified(person.email.toUpperCase(), 's1'))
    expect(first.status).toBe(302)
    expect(await first.client.email()).toBe(person.email)
    const later = await signIn(verified('renamed@example.com', 's1'))
    expect(await later.client.email()).toBe(person.email)
    expect((await users()).length).toBe(before)
    const { sessions } = (await later.client.call('GET', '/user/sessions')).json
    expect(sessions[0]).toMatchObject({ method: 'oidc', provedAt: null, current: true })
  })

  it('sign-in: refuses unverified and unknown addresses, look-alikes, and a mailbox that another subject took over', async () => {
    const person = await platform.makeUser()
    const before = (await users()).length
    for (const [name, claims] of Object.entries({
      unverified: { ...verified(person.email, 'a'), email_verified: false },
      'verified as a text': { ...verified(person.email, 'b'), email_verified: 'true' },
      'without an address': { sub: 'c' },
      unknown: verified('stranger@example.com', 'd'),
      'look-alike': verified(person.email.replace('e', 'е'), 'e'),
    }))
      expect((await signIn(claims)).status, name).toBe(401)
    expect((await signIn(verified(person.email, 'first'))).status).toBe(302)
    expect((await signIn(verified(person.email, 'second'))).status).toBe(401)
    expect((await users()).length).toBe(before)
  })

  it('sign-in: refuses ID tokens that are wrong in one part, with the same bytes', async () => {
    const person = await platform.makeUser()
    const now = Math.floor(Date.now() / 1000)
    const texts = new Set<string>()
    for (const [name, wrong] of Object.entries({
      issuer: { iss: 'https://evil.example' },
      audience: { aud: 'another-client' },
      nonce: { nonce: 'replayed' },
      'no nonce': { nonce: undefined },
      expired: { iat: now - 900, exp: now - 600 },
    })) {
      provider.wrong = wrong
      const { status, text } = await signIn(verified(person.email))
      expect(status, name).toBe(401)
      texts.add(text)
    }
    provider.wrong = {}
    provider.signsWithOtherKey = true
    const forged = await signIn(verified(person.email))
    expect(forged.status).toBe(401)
    expect(texts.add(forged.text).size).toBe(1)
    provider.signsWithOtherKey = false
    expect((await signIn(verified(person.email))).status).toBe(302)
  })

  it('sign-in: an answer works once, in the browser of its attempt, and from its issuer', async () => {
    const person = await platform.makeUser()
    provider.person = verified(person.email)
    const [client, other] = [browser(), browser()]
    const back = provider.authorize(await begin(client))
    // Login CSRF: another browser, without an attempt and with one of its own.
    expect((await other.send('GET', pathOf(back))).status).toBe(401)
    await begin(other)
    expect((await other.send('GET', pathOf(back))).status).toBe(401)
    const cookies = new Map(client.cookies)
    expect((await client.send('GET', pathOf(back))).status).toBe(302)
    const replay = browser()
    for (const [name, value] of cookies) replay.cookies.set(name, value)
    expect((await replay.send('GET', pathOf(back))).status).toBe(401)
    // Issuer mix-up.
    const mixed = provider.authorize(await begin(replay))
    mixed.searchParams.set('iss', 'https://evil.example')
    expect((await replay.send('GET', pathOf(mixed))).status).toBe(401)
    const denied = await begin(replay)
    const state = new URL(denied).searchParams.get('state')
    const answer = await replay.send('GET', `/console/oidc/callback?error=access_denied&state=${state}`)
    expect(answer.status).toBe(401)
  })

  it('sign-in: returns to a page of the console, never to another site, and asks again where it goes on from one', async () => {
    const person = await platform.makeUser()
    provider.person = verified(person.email)
    for (const [next, wanted] of [
      ['/console/policy?account=x', '/console/policy?account=x'],
      ['//evil.example', '/console/'],
      ['/console/../../evil', '/console/'],
      ['https://evil.example/console/', '/console/'],
      ['/console/oidc', '/console/'],
    ]) {
      const client = browser()
      const location = await begin(client, `?next=${encodeURIComponent(next!)}`)
      expect(new URL(location).searchParams.get('prompt')).toBe('login')
      const answer = await client.send('GET', pathOf(provider.authorize(location)))
      expect([answer.status, answer.headers.get('location')], next).toEqual([302, wanted])
    }
  })

  it('second-step: counts the time at which the provider checked the person, and none if it does not say', async () => {
    const person = await platform.makeUser({ admin: true })
    const { accountId, admin } = platform
    const input = { accountId, reauthenticateSeconds: 300 }
    expect((await platform.request('PATCH', '/account', { token: admin.token, input })).status).toBe(200)
    const now = Math.floor(Date.now() / 1000)
    const statuses = []
    for (const auth_time of [undefined, now - 3_600, now]) {
      const { client } = await signIn({ ...verified(person.email, 'op'), auth_time })
      statuses.push((await client.call('POST', '/user/tokens', { name: 'x' })).status)
    }
    expect(statuses).toEqual([403, 403, 200])
  })

  it('sign-in: domains and groups let people in, and groups decide over the membership that they gave only', async () => {
    const groups = [
      { group: 'ops', permission: 'admin' },
      { group: 'devs', permission: 'member' },
    ]
    const own = await startWith({ domains: ['example.com'], groups })
    const signInAt = async (claims: Record<string, unknown>) => signIn(claims, browser(own))
    const membershipOf = async (client: WebClient) =>
      (await client.call('GET', '/accounts')).json.accounts[0]?.permissions ?? null
    expect((await signInAt({ ...verified('ann@evil.example'), groups: ['ops'] })).status).toBe(401)
    expect((await signInAt({ ...verified('ann@example.com'), groups: ['sales'] })).status).toBe(401)
    const ann = (await signInAt({ ...verified('ann@example.com'), groups: ['devs'], name: 'Ann' })).client
    expect(await membershipOf(ann)).toEqual({ admin: false, manageMembers: false })
    await signInAt({ ...verified('ann@example.com'), groups: ['ops', 'devs'] })
    expect(await membershipOf(ann)).toEqual({ admin: true, manageMembers: true })
    await signInAt({ ...verified('ann@example.com'), groups: [] })
    expect(await membershipOf(ann)).toBeNull()
    const member = await own.makeUser({ manageMembers: true })
    const kept = (await signInAt({ ...verified(member.email), groups: ['ops'] })).client
    expect(await membershipOf(kept)).toEqual({ admin: false, manageMembers: true })
    const audit = await own.request('GET', '/audit', {
      token: own.admin.token,
      input: { accountId: own.accountId },
    })
    const changes = audit.json.entries.filter(
      ({ objectType }: { objectType: string }) => objectType === 'membership',
    )
    expect(changes).toHaveLength(3)
    await own.close()
  })

  it('sign-in: a provider that is away fails alone; the other ways go on', async () => {
    const away = await startWith({ issuer: 'http://127.0.0.1:9' })
    expect((await browser(away).send('GET', '/console/oidc')).status).toBe(503)
    expect((await browser(away).post('/console/session', { token: away.admin.token })).status).toBe(200)
    await away.close()
  })
})
