import { afterAll, beforeAll, expect, it } from 'vitest'
import { findChatConnection } from '../../../src/store/repositories/chat-connections.ts'
import { findChatUserOf, saveChatLink } from '../../../src/store/repositories/chat-users.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

const signingSecret = 'a-signing-secret-of-a-chat'
const person = { workspace: 'T1', chatUser: 'U1' }

const send = async (method: string, path: string, input: object, token = platform.admin.token) =>
  platform.request(method, path, { token, input: input as Record<string, unknown> })

async function connect(config: object = { signingSecret }, more: object = {}) {
  const input = { accountId: platform.accountId, name: 'Team', kind: 'slack-http', config, ...more }
  return send('POST', '/chat-connection', input)
}

async function linkFor(connectionId: string, code: string, expiresInMs = 600_000): Promise<void> {
  const expiresAt = new Date(platform.clock.wallMs() + expiresInMs).toISOString()
  const link = { ...person, connectionId, chatName: 'ann', expiresAt }
  await platform.db.write((tx) => saveChatLink(tx, code, link))
}

it('A3 only people who are admins connect a chat, and no answer or audit entry shows its secrets', async () => {
  const created = await connect()
  expect(created.status).toBe(200)
  const { connectionId, requestUrl } = created.json.connection
  expect(requestUrl).toBe(`${platform.apiUrl}/hooks/chat/${connectionId}`)
  const { json } = await send('GET', '/chat-connections', { accountId: platform.accountId })
  expect(json.connections).toHaveLength(1)
  const audit = await send('GET', '/audit', { accountId: platform.accountId })
  for (const text of [created.text, JSON.stringify(json), audit.text])
    expect(text).not.toContain(signingSecret)
  const stored = await platform.db.read((tx) => findChatConnection(tx, connectionId))
  expect(JSON.stringify(stored)).not.toContain(signingSecret)

  const member = await platform.makeUser()
  const { token: agent } = (await send('POST', '/user/tokens', { name: 'a', kind: 'agent' })).json
  for (const token of [member.token, agent]) {
    const input = { accountId: platform.accountId, name: 'x', kind: 'slack-http', config: { signingSecret } }
    expect((await send('POST', '/chat-connection', input, token)).status).toBe(403)
    expect((await send('DELETE', '/chat-connection', { connectionId }, token)).status).toBe(403)
  }
})

it('refuses what a kind cannot use, and a new address without its token', async () => {
  for (const [config, more, problem] of [
    [{}, {}, 'signingSecret'],
    [{ signingSecret, appToken: 'xapp-1' }, {}, 'appToken'],
    [{ signingSecret }, { channel: 'C1' }, 'botToken'],
    [{ signingSecret, apiBaseUrl: 'ftp://x' }, {}, 'apiBaseUrl'],
    [{ appToken: 'xapp-1' }, { kind: 'slack-socket' }, 'botToken'],
    [
      { appToken: 'x', botToken: 'x', apiBaseUrl: 'https://x.example.com' },
      { kind: 'slack-socket' },
      'apiBaseUrl',
    ],
  ] as const) {
    const answer = await connect(config, more)
    expect([answer.status, answer.json.details]).toEqual([400, expect.stringContaining(problem)])
  }
  const { connectionId } = (await connect({ signingSecret, botToken: 'xoxb-1' })).json.connection
  const moved = (config: object) => send('PATCH', '/chat-connection', { connectionId, config })
  expect((await moved({ apiBaseUrl: 'https://other.example.com/api' })).status).toBe(400)
  const changed = await moved({ apiBaseUrl: 'https://other.example.com/api/', botToken: 'xoxb-2' })
  expect(changed.json.connection.apiBaseUrl).toBe('https://other.example.com/api')
})

it('connects a chat user with a link that works once, for members only, and ends with the membership', async () => {
  const { connectionId } = (await connect()).json.connection
  const ann = await platform.makeUser()
  const outsider = await platform.makeUser({ accountId: await platform.makeAccount('Other') })
  await linkFor(connectionId, 'late', -1)
  expect((await send('POST', '/chat-user', { code: 'late' }, ann.token)).status).toBe(404)
  await linkFor(connectionId, 'code')
  expect((await send('POST', '/chat-user', { code: 'code' }, outsider.token)).status).toBe(404)
  const both = await Promise.all([1, 2].map(() => send('POST', '/chat-user', { code: 'code' }, ann.token)))
  expect(both.map(({ status }) => status).sort()).toEqual([200, 404])

  const found = () => platform.db.read((tx) => findChatUserOf(tx, { ...person, connectionId }))
  expect(await found()).toMatchObject({ userId: ann.userId })
  const list = (token: string) => send('GET', '/chat-users', { accountId: platform.accountId }, token)
  expect((await list((await platform.makeUser()).token)).json.users).toEqual([])
  expect((await list(platform.admin.token)).json.users).toMatchObject([
    { email: ann.email, chatUser: 'U1', workspace: 'T1' },
  ])
  const { accountId } = platform
  await send('DELETE', '/member', { accountId, membershipId: ann.membershipId })
  expect(await found()).toBeNull()
})

it('A4 a chat user is removed by a manager, or by its member with its token', async () => {
  const { connectionId } = (await connect()).json.connection
  const ann = await platform.makeUser()
  await linkFor(connectionId, 'again')
  const { chatUserId } = (await send('POST', '/chat-user', { code: 'again' }, ann.token)).json
  const { accountId } = platform
  const remove = (token: string) => send('DELETE', '/chat-user', { accountId, chatUserId }, token)
  expect((await remove(ann.token)).status).toBe(403)
  const own = async () => {
    const { tokens } = (await send('GET', '/user/tokens', {}, ann.token)).json
    return tokens.filter(({ name }: { name: string }) => name === 'Chat: ann')
  }
  expect(await own()).toMatchObject([{ kind: 'person', accountId }])
  expect((await remove((await platform.makeUser({ manageMembers: true })).token)).status).toBe(200)
  expect(await own()).toEqual([])

  await linkFor(connectionId, 'once more')
  await send('POST', '/chat-user', { code: 'once more' }, ann.token)
  const [{ tokenId }] = await own()
  await send('DELETE', '/user/token', { tokenId }, ann.token)
  expect((await send('GET', '/chat-users', { accountId }, ann.token)).json.users).toEqual([])
})
