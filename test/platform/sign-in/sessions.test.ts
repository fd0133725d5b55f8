import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeConsoleShell } from '../../../testkit/console/shell.ts'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'
import { WebClient } from '../../../testkit/sign-in/web-client.ts'

describe('sessions and users', () => {
  const shell = makeConsoleShell()
  let platform: TestPlatform
  beforeAll(async () => {
    platform = await TestPlatform.start({ reconciles: false, consoleDir: shell })
  })
  afterAll(async () => {
    await platform.close()
    rmSync(shell, { recursive: true })
  })

  async function signedIn({ token }: Pick<TestUser, 'token'>, userAgent = 'Firefox'): Promise<WebClient> {
    const client = new WebClient(platform.apiUrl)
    const headers = { 'user-agent': userAgent }
    const answer = await client.send('POST', '/console/session', { body: { token }, headers })
    expect(answer.status).toBe(200)
    return client
  }
  const as = (token: string, method: string, path: string, input: Record<string, unknown> = {}) =>
    platform.request(method, path, { token, input })

  it('sign-in: a person sees the own sessions only, and ends one or all', async () => {
    const person = await platform.makeUser()
    const [one, other] = [await signedIn(person, 'Firefox'), await signedIn(person, 'Safari')]
    await signedIn(platform.admin)
    const { sessions } = (await one.call('GET', '/user/sessions')).json
    expect(sessions).toMatchObject([
      { current: false, method: 'token', userAgent: 'Safari', clientAddress: '127.0.0.1' },
      { current: true, userAgent: 'Firefox' },
    ])
    const { sessionId } = sessions[0]
    expect((await as(platform.admin.token, 'DELETE', '/user/sessions', { sessionId })).status).toBe(404)
    const ended = await one.call('DELETE', '/user/sessions', { sessionId })
    expect(ended.json).toEqual({ message: 'Signed out', ended: 1 })
    expect(await other.email()).toBeNull()
    expect(await one.email()).toBe(person.email)
    expect((await as(person.token, 'DELETE', '/user/sessions')).json).toMatchObject({ ended: 1 })
    expect(await one.email()).toBeNull()
  })

  it('sign-in: an agent ends no session, lists no users, and gets no session of a person', async () => {
    const made = await as(platform.admin.token, 'POST', '/user/tokens', { name: 'bot', kind: 'agent' })
    const agent: string = made.json.token
    expect((await as(agent, 'DELETE', '/user/sessions')).status).toBe(403)
    expect((await as(agent, 'DELETE', '/user', { userId: 'usr_x' })).status).toBe(403)
    const client = new WebClient(platform.apiUrl)
    expect((await client.post('/console/session', { token: agent })).status).toBe(403)
  })

  it('sign-in: operators list and remove users; no operator removes themselves or the last admin of an account', async () => {
    const person = await platform.makeUser()
    const session = await signedIn(person)
    expect((await as(person.token, 'GET', '/users')).status).toBe(403)
    const { json } = await as(platform.admin.token, 'GET', '/users', { search: person.email.toUpperCase() })
    expect(json).toMatchObject({
      users: [{ userId: person.userId, email: person.email, accounts: 1, tokens: 1, sessions: 1 }],
      cursor: null,
    })
    expect((await as(platform.admin.token, 'GET', '/users', { search: '%' })).json.users).toEqual([])
    const page = (await as(platform.admin.token, 'GET', '/users', { limit: 1 })).json
    const next = await as(platform.admin.token, 'GET', '/users', { limit: 500, cursor: page.cursor })
    expect(next.json.users.map(({ email }: { email: string }) => email)).not.toContain(page.users[0].email)
    const remove = (userId: string) => as(platform.admin.token, 'DELETE', '/user', { userId })
    expect((await remove(platform.admin.userId)).status).toBe(400)
    const { accountId } = (await as(person.token, 'POST', '/account', { name: 'Own' })).json
    expect((await remove(person.userId)).json.error).toBe('The last admin cannot be removed')
    const other = await platform.makeUser({ accountId, admin: true })
    expect((await remove(person.userId)).status).toBe(200)
    expect(await session.email()).toBeNull()
    expect((await remove(person.userId)).status).toBe(404)
    const left = await as(other.token, 'GET', '/audit', { accountId })
    expect(left.json.entries[0]).toMatchObject({ operation: 'remove-user', objectType: 'membership' })
  })
})
