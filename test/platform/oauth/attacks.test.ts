import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listAudit } from '../../../src/contract/audit.ts'
import { createUserToken, listUserTokens } from '../../../src/contract/users.ts'
import { Person } from '../../../testkit/oauth/person.ts'
import { RawClient } from '../../../testkit/oauth/raw-client.ts'
import { callback, startSignIn } from '../../../testkit/oauth/sign-in.ts'
import type { TestPlatform } from '../../../testkit/platform/test-platform.ts'

describe('attacks on the sign-in of agents', () => {
  let platform: TestPlatform
  let person: Person
  let client: RawClient
  beforeAll(async () => {
    ;({ platform, person, client } = await startSignIn())
  })
  afterAll(() => platform.close())

  const codeOf = async (of = client, url = of.url()) => (await person.approves(url)).searchParams.get('code')!
  const tokensOf = async (of = client) => {
    const answer = await of.exchange(await codeOf(of))
    expect(answer.status).toBe(200)
    return (await answer.json()) as { access_token: string; refresh_token: string }
  }
  const errorOf = async (answer: Promise<Response>) => {
    const { status } = await answer
    const { error } = (await (await answer).json()) as { error: string }
    return `${status} ${error}`
  }

  it('calls whose tool has no text as its name are answered, not failed', async () => {
    const { access_token } = await tokensOf()
    for (const name of [{ toString: 'create-app' }, ['create-app'], null])
      expect(await client.statusOf(access_token, name as never), JSON.stringify(name)).toBeLessThan(500)
  })

  describe('codes', () => {
    it('are worthless without the verifier, at another address, or for another client', async () => {
      const other = await RawClient.register(platform.apiUrl, callback)
      for (const changes of [
        { code_verifier: other.verifier },
        { code_verifier: client.challenge },
        { redirect_uri: 'https://host.example.com/other' },
        { client_id: other.clientId },
      ]) {
        const code = await codeOf()
        expect(await errorOf(client.exchange(code, changes)), JSON.stringify(changes)).toBe(
          '400 invalid_grant',
        )
        // One wrong attempt spends the code.
        expect(await errorOf(client.exchange(code))).toBe('400 invalid_grant')
      }
      expect(await errorOf(client.exchange(await codeOf(), { code_verifier: undefined }))).toBe(
        '400 invalid_request',
      )
      expect(await errorOf(client.exchange('lsc_unknown'))).toBe('400 invalid_grant')
    })

    it('work once; a replay revokes what the first use got', async () => {
      const code = await codeOf()
      const { access_token } = (await (await client.exchange(code)).json()) as { access_token: string }
      expect(await client.statusOf(access_token)).toBe(200)
      expect(await errorOf(client.exchange(code))).toBe('400 invalid_grant')
      expect(await client.statusOf(access_token)).toBe(401)
    })

    it('give one of ten simultaneous requests at most one grant', async () => {
      const code = await codeOf()
      const answers = await Promise.all(Array.from({ length: 10 }, () => client.exchange(code)))
      expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
      const won = answers.find(({ status }) => status === 200)
      // The other nine are replays, so even the winner's token is revoked.
      if (won)
        expect(await client.statusOf(((await won.json()) as { access_token: string }).access_token)).toBe(401)
    })

    it('give no more than 50 tokens to a person, however many were approved at once', async () => {
      const { token } = await platform.makeUser()
      const name = { input: { name: 'one of many' }, token }
      for (let made = 1; made < 49; made += 1) await platform.request('POST', '/user/tokens', name)
      const other = await Person.signIn(platform, token)
      const codes: string[] = []
      for (const _ of [1, 2, 3]) codes.push((await other.approves(client.url())).searchParams.get('code')!)
      const answers: number[] = []
      for (const code of codes) answers.push((await client.exchange(code)).status)
      expect(answers).toEqual([200, 400, 400])
      expect((await platform.request('GET', '/user/tokens', { token })).json.tokens).toHaveLength(50)
    })

    it('cannot be used as tokens, nor tokens as codes', async () => {
      const code = await codeOf()
      expect(await client.statusOf(code)).toBe(401)
      const { access_token, refresh_token } = await tokensOf()
      expect(await client.statusOf(refresh_token)).toBe(401)
      expect(await errorOf(client.exchange(access_token))).toBe('400 invalid_grant')
      expect(await errorOf(client.exchange(refresh_token))).toBe('400 invalid_grant')
      expect(await errorOf(client.refresh(access_token))).toBe('400 invalid_grant')
      expect(await client.statusOf(access_token)).toBe(200)
    })
  })

  describe('tokens', () => {
    it('of a refresh belong to their client', async () => {
      const other = await RawClient.register(platform.apiUrl, callback)
      const { refresh_token } = await tokensOf()
      expect(await errorOf(other.refresh(refresh_token))).toBe('400 invalid_grant')
      expect(await errorOf(client.refresh(refresh_token, { resource: 'https://other.example.com' }))).toBe(
        '400 invalid_target',
      )
    })

    it('are for /mcp only: the API and the sign-in of the console refuse them', async () => {
      const { access_token: token } = await tokensOf()
      expect((await platform.request('GET', '/accounts', { token })).status).toBe(401)
      expect((await platform.request('GET', '/user/tokens', { token })).status).toBe(401)
      await expect(Person.signIn(platform, token)).rejects.toThrow('401')
      const forged = { authorization: `Bearer ${token}`, 'longshore-surface': 'mcp', 'x-forwarded-host': 'x' }
      expect((await fetch(`${platform.apiUrl}/api/public/v1/accounts`, { headers: forged })).status).toBe(401)
    })

    it('of one address of the server do not work at another (audience)', async () => {
      const { access_token } = await tokensOf()
      const elsewhere = new RawClient(
        platform.apiUrl.replace('127.0.0.1', 'localhost'),
        client.clientId,
        callback,
      )
      expect(await elsewhere.statusOf(access_token)).toBe(401)
      expect(await client.statusOf(access_token)).toBe(200)
    })

    it('never allow what only people may do, and no token approves a request', async () => {
      const { access_token } = await tokensOf()
      for (const token of [access_token, platform.admin.token]) {
        const answer = await fetch(`${platform.apiUrl}/console/authorization${client.url().search}`, {
          headers: { authorization: `Bearer ${token}`, 'longshore-console': '1' },
        })
        expect(answer.status).toBe(401)
      }
    })

    it('are stored as hashes only, and never appear in the audit log', async () => {
      const { access_token, refresh_token } = await tokensOf()
      const rows = await platform.db.read(async (tx) => [
        ...(await tx.selectFrom('oauth_secrets').selectAll().execute()),
        ...(await tx.selectFrom('oauth_grants').selectAll().execute()),
        ...(await tx.selectFrom('audit_log').selectAll().execute()),
        ...(await tx.selectFrom('tokens').selectAll().execute()),
      ])
      const text = JSON.stringify(rows)
      expect(text).toContain('authorize-client')
      for (const secret of [access_token, refresh_token, client.verifier]) expect(text).not.toContain(secret)
    })
  })

  describe('the consent', () => {
    it('needs a session of this server and a request of its own page', async () => {
      const path = `/console/authorization${client.url().search}`
      const noHeader = await fetch(platform.apiUrl + path)
      expect(noHeader.status).toBe(403)
      for (const headers of [
        { 'longshore-console': '' },
        { origin: 'https://evil.example' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
      ] as Record<string, string>[]) {
        const body = { request: client.url().search.slice(1), approve: true, scopes: ['environments:read'] }
        const answer = await person.send('/console/authorization', body, headers)
        expect(answer.status, JSON.stringify(headers)).toBe(403)
      }
      const noSession = await fetch(platform.apiUrl + path, { headers: { 'longshore-console': '1' } })
      expect(noSession.status).toBe(401)
    })

    it('is about the whole request, also after a # or ?', async () => {
      for (const end of ['#', '?']) {
        const request = `${client.url({ scope: undefined }).search.slice(1)}&x=${end}&scope=environments:delete`
        const answer = await person.send(`/console/authorization?request=${encodeURIComponent(request)}`)
        expect(await answer.json()).toMatchObject({ scopes: ['environments:delete'] })
      }
    })

    it('cannot be framed', async () => {
      const answer = await fetch(client.url())
      expect(new URL(answer.url).pathname).toBe('/console/authorize')
      expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(answer.headers.get('x-frame-options')).toBe('DENY')
      expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    })

    it('never gives more than was requested, and never more than the session may', async () => {
      const url = client.url({ scope: 'environments:read' })
      const all = ['environments:read', 'environments:write', 'environments:delete', 'secrets:read'] as const
      const back = await person.approves(url, { scopes: [...all] })
      const answer = await client.exchange(back.searchParams.get('code')!)
      expect(await answer.json()).toMatchObject({ scope: 'environments:read' })
      await expect(person.approves(url, { scopes: ['environments:write'] })).rejects.toThrow(
        'Nothing is allowed',
      )

      const user = await platform.makeUser()
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
      const made = await user.client.call(createUserToken, { name: 'x', readOnly: true, expiresAt })
      const reader = await Person.signIn(platform, made.token)
      await expect(reader.approves(client.url())).rejects.toThrow('outlive')
      const narrowed = await reader.approves(client.url(), { scopes: [...all], expiresAt })
      const tokens = await client.exchange(narrowed.searchParams.get('code')!)
      const { access_token, scope } = (await tokens.json()) as { access_token: string; scope: string }
      expect(scope).toBe('environments:read')
      expect(await client.statusOf(access_token, 'create-app')).toBe(403)
    })

    it('is the entry authorize-client of the audit log; a denied one gives nothing', async () => {
      const before = (await platform.admin.client.call(listUserTokens, {})).tokens.length
      const back = await person.denies(client.url())
      expect(Object.fromEntries(back.searchParams)).toMatchObject({
        error: 'access_denied',
        state: 'the-state',
      })
      expect(back.searchParams.has('code')).toBe(false)
      // An approved code that is never used gives nothing either.
      await codeOf()
      expect((await platform.admin.client.call(listUserTokens, {})).tokens.length).toBe(before)
    })
  })

  it('names the agent of a call in the audit log', async () => {
    const { access_token } = await tokensOf()
    const { accountId } = platform
    const app = { accountId, name: 'named', dockerPreset: 'CUSTOM', port: 8080 }
    expect(await client.statusOf(access_token, 'create-app', app)).toBe(200)
    const { entries } = await platform.admin.client.call(listAudit, { accountId })
    expect(entries.find(({ operation }) => operation === 'create-app')).toMatchObject({
      agent: 'Raw client',
      surface: 'mcp',
      principal: { email: platform.admin.email },
    })
  })
})

describe('the second step', () => {
  it('second-step: a session in which the person proved nothing lately connects no agent', async () => {
    const { platform, person, client } = await startSignIn()
    const input = { accountId: platform.accountId, reauthenticateSeconds: 300 }
    const set = await platform.request('PATCH', '/account', { token: platform.admin.token, input })
    expect(set.status, set.text).toBe(200)
    expect((await person.approves(client.url())).searchParams.get('code')).toMatch(/^lsc_/)
    const provedAt = new Date(Date.now() - 301_000).toISOString()
    await platform.db.write((tx) => tx.updateTable('console_sessions').set({ proved_at: provedAt }).execute())
    await expect(person.approves(client.url())).rejects.toThrow(/403.*Confirm that it is you/)
    await platform.close()
  })
})
