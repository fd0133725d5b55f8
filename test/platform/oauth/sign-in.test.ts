import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listUserTokens, revokeUserToken } from '../../../src/contract/users.ts'
import { callTool } from '../../../testkit/oauth/call-tool.ts'
import { OAuthHost } from '../../../testkit/oauth/host.ts'
import { Person } from '../../../testkit/oauth/person.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const consoleDir = 'dist/console'

describe('sign-in of agents with the embedded authorization server', () => {
  let platform: TestPlatform
  let person: Person
  beforeAll(async () => {
    platform = await TestPlatform.start({ reconciles: false, oauth: {}, consoleDir })
    person = await Person.signIn(platform, platform.admin.token)
  })
  afterAll(() => platform.close())

  const hostOf = (decision: Parameters<Person['approves']>[1] = {}, library?: OAuthHost['library']) =>
    new OAuthHost(`${platform.apiUrl}/mcp`, (url) => person.approves(url, decision), library)
  const app = (name: string) => ({
    accountId: platform.accountId,
    name,
    dockerPreset: 'CUSTOM',
    port: 8080,
  })
  const grantOf = async ({ held }: OAuthHost) => {
    const { tokens } = await platform.admin.client.call(listUserTokens, {})
    expect(held).toBeDefined()
    return tokens.filter(({ agent }) => agent !== null).at(-1)!
  }

  it.each(['first', 'second'] as const)(
    'connects a host by URL alone (%s), and the first write works',
    async (library) => {
      const host = hostOf({}, library)
      const agent = await host.connect()
      expect(host.held).toMatchObject({
        access_token: expect.stringMatching(/^lsa_[0-9A-Za-z]{49}$/),
        refresh_token: expect.stringMatching(/^lsr_[0-9A-Za-z]{49}$/),
        scope: 'environments:read environments:write',
      })
      expect((await agent.does('create-app', app('by agent'))).appId).toMatch(/^app_/)
      await agent.close()
    },
  )

  it('lists the agent with what it may do; revoking it ends its access at once', async () => {
    const host = hostOf({ readOnly: true, groups: ['apps', 'logs'] })
    const agent = await host.connect()
    const { tokenId, name, readOnly, agent: shown } = await grantOf(host)
    expect({ name, readOnly }).toEqual({ name: 'Test host', readOnly: true })
    expect(shown).toMatchObject({
      host: 'a program on this computer (127.0.0.1)',
      scopes: ['environments:read'],
      groups: ['apps', 'logs'],
    })
    await agent.does('list-apps', { accountId: platform.accountId })
    const held = host.held!
    await platform.admin.client.call(revokeUserToken, { tokenId })
    await expect(agent.does('list-apps', { accountId: platform.accountId })).rejects.toThrow()
    host.held = held
    expect((await refresh(host)).status).toBe(400)
    await agent.close()
  })

  it('refreshes; tokens of before stay valid until their end', async () => {
    const host = hostOf()
    await (await host.connect()).close()
    const first = host.held!
    const answer = await refresh(host)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const second = (await answer.json()) as { access_token: string; refresh_token: string }
    expect(await statusAt(second.access_token)).toBe(200)
    expect(await statusAt(first.access_token)).toBe(200)
  })

  it.each(['first', 'second'] as const)(
    'insufficient-scope: refuses a call beyond the scopes with 403, and the host asks the person for more (%s)',
    async (library) => {
      const host = hostOf({}, library)
      const agent = await host.connect()
      const { appId } = await agent.does('create-app', app('to delete'))
      const { access_token: token } = host.held!
      const refused = await call(token, 'delete-app', { appId, confirm: 'to delete' })
      expect(refused.status).toBe(403)
      expect(refused.headers.get('www-authenticate')).toBe(
        `Bearer error="insufficient_scope", resource_metadata="${platform.apiUrl}/.well-known/oauth-protected-resource/mcp", scope="environments:read environments:write environments:delete"`,
      )
      await expect(agent.says('delete-app', { appId, confirm: 'to delete' })).rejects.toThrow()
      expect(host.opened.at(-1)!.searchParams.get('scope')).toContain('environments:delete')
      await host.finish()
      expect(host.held!.scope).toBe('environments:read environments:write environments:delete')
      const more = await host.connect()
      await more.does('delete-app', { appId, confirm: 'to delete' })
      await agent.close()
      await more.close()
    },
  )

  it('refuses one refresh after insufficient_scope, and no other', async () => {
    const host = hostOf()
    await (await host.connect()).close()
    expect((await call(host.held!.access_token, 'delete-app', { appId: 'app_x' })).status).toBe(403)
    expect(await (await refresh(host)).json()).toEqual({
      error: 'invalid_grant',
      error_description: 'The agent needs more scopes than it has. Ask the person for them.',
    })
    // The person may decline; the agent keeps what it had.
    expect(await statusAt(host.held!.access_token)).toBe(200)
    expect((await refresh(host)).status).toBe(200)
  })

  it('answers with the issuer, so that the client detects an answer of another server (mix-up)', async () => {
    const browser = async (url: URL) => {
      const back = await person.approves(url)
      back.searchParams.set('iss', 'https://other.example.com')
      return back
    }
    const host = new OAuthHost(`${platform.apiUrl}/mcp`, browser, 'second')
    await expect(host.connect()).rejects.toThrow()
    expect(host.held).toBeUndefined()
    const honest = hostOf({}, 'second')
    await (await honest.connect()).close()
    expect(honest.held).toBeDefined()
  })

  it('ends at the revocation endpoint', async () => {
    const host = hostOf()
    await (await host.connect()).close()
    const { access_token: token } = host.held!
    const revoke = (clientId: string) =>
      fetch(`${platform.apiUrl}/oauth/revoke`, {
        method: 'POST',
        body: new URLSearchParams({ token, client_id: clientId }),
      })
    expect((await revoke('cli_other')).status).toBe(200)
    expect(await statusAt(token)).toBe(200)
    expect((await revoke(host.information!.client_id)).status).toBe(200)
    expect(await statusAt(token)).toBe(401)
  })

  const refresh = ({ held, information }: OAuthHost) =>
    fetch(`${platform.apiUrl}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: held!.refresh_token!,
        client_id: information!.client_id,
      }),
    })
  const call = (token: string, name: string, args: object) => callTool(platform.apiUrl, token, name, args)
  const statusAt = async (token: string) => (await call(token, 'list-accounts', {})).status
})
