import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMcpHttpHandler } from '../../../src/mcp/transport/http/handler.ts'
import { permissionsOf } from '../../../src/operations/core/permissions.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { tools } from '../../../tools/index.ts'

const minuteMs = 60_000
const clock = new TestClock()
let platform: TestPlatform
let mcpUrl = ''
const closers: (() => unknown)[] = []

beforeAll(async () => {
  const dir = path.resolve('node_modules/.cache/token-expiry')
  mkdirSync(dir, { recursive: true })
  writeFileSync(path.join(dir, 'index.html'), '<!doctype html><title>shell</title>')
  platform = await TestPlatform.start({ clock, reconciles: false, consoleDir: dir })
  const mcp = createMcpHttpHandler({
    registry: tools,
    apiUrl: () => platform.apiUrl,
    log: platform.log,
    clock,
    authenticate: (token, address) => platform.runner.authenticate(token, { address, reads: true }),
    permissions: (token) => permissionsOf(platform, { token }),
  })
  const server = createServer(mcp)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  mcpUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  closers.push(
    () => mcp.close(),
    () => server.close(),
  )
})
afterAll(async () => {
  for (const close of closers) close()
  await platform.close()
})

const call = (method: string, pathname: string, token: string, input: Record<string, unknown> = {}) =>
  platform.request(method, pathname, { token, input })
const inMinutes = (minutes: number) => new Date(clock.wallMs() + minutes * minuteMs).toISOString()

interface Made {
  token: string
  tokenId: string
}

async function makeToken(input: Record<string, unknown> = {}, by = platform.admin.token): Promise<Made> {
  const made = await call('POST', '/user/tokens', by, { name: 'agent', ...input })
  expect(made.status, made.text).toBe(200)
  return made.json
}

/** A token that has just expired, and one that was revoked; `use` runs while both are good. */
async function expiredAndRevoked<T>(use: (token: string) => Promise<T>): Promise<[expired: T, revoked: T]> {
  const expiring = await makeToken({ expiresAt: inMinutes(10) })
  const other = await makeToken()
  const used: [T, T] = [await use(expiring.token), await use(other.token)]
  await call('DELETE', '/user/token', platform.admin.token, { tokenId: other.tokenId })
  await clock.advance(10 * minuteMs)
  return used
}

/** Status, body and headers, except the ones that differ between any two answers. */
/** Whether the connection stays depends on how much of the request had arrived. */
const notOfAnswer = /^(?:date|x-request-id|connection|keep-alive)$/

async function bytesOf(answer: Response): Promise<unknown> {
  const headers = [...answer.headers].filter(([name]) => !notOfAnswer.test(name))
  return { status: answer.status, headers, body: await answer.text() }
}

describe('an expired token', () => {
  it('A1 works until it expires, and then gets the same bytes as a revoked one', async () => {
    const { accountId } = platform
    const send = async (token: string, method: string, pathname: string, headers = {}) => {
      const answer = await fetch(`${platform.apiUrl}/api/public/v1${pathname}`, {
        method,
        headers: { authorization: token, ...headers },
        ...(method === 'GET' ? {} : { body: JSON.stringify({ accountId, name: 'Renamed' }) }),
      })
      return bytesOf(answer)
    }
    const all = async (token: string) => [
      await send(token, 'GET', '/user'),
      await send(token, 'PATCH', '/account', { 'content-type': 'application/json' }),
      await send(token, 'PATCH', '/account', { 'content-type': 'application/json', 'dry-run': 'true' }),
      await send(token, 'GET', '/app-env?appEnvId=env_x'),
    ]
    const [expired, revoked] = await expiredAndRevoked(async (token) => {
      expect((await call('GET', '/user', token)).status).toBe(200)
      return token
    })
    const answers = await all(expired)
    expect(answers).toEqual(await all(revoked))
    expect(answers).toEqual(Array(4).fill(expect.objectContaining({ status: 401 })))
    const expiring = await makeToken({ expiresAt: inMinutes(10) })
    await clock.advance(10 * minuteMs - 1)
    expect((await call('GET', '/user', expiring.token)).status).toBe(200)
    await clock.advance(1)
    expect((await call('GET', '/user', expiring.token)).status).toBe(401)
  })

  it('makes room for a new one when the user has 50', async () => {
    const user = await platform.makeUser()
    const expiresAt = inMinutes(10)
    for (let count = 1; count < 50; count += 1) await makeToken({ expiresAt }, user.token)
    const make = () => call('POST', '/user/tokens', user.token, { name: 'one more' })
    const refused = await make()
    expect([refused.status, refused.json.error]).toEqual([400, 'A user has at most 50 tokens'])
    await clock.advance(10 * minuteMs)
    const listed = async () => (await call('GET', '/user/tokens', user.token)).json.tokens
    expect(await listed()).toHaveLength(50)
    expect((await make()).status).toBe(200)
    expect(await listed()).toHaveLength(2)
  })

  it('A1 does not get the kept answer of its own earlier call', async () => {
    const { accountId } = platform
    const send = (token: string) =>
      platform.request('PATCH', '/account', {
        token,
        input: { accountId, name: 'Once' },
        headers: { 'idempotency-key': `once ${token}` },
      })
    const [expired, revoked] = await expiredAndRevoked(async (token) => {
      expect((await send(token)).status).toBe(200)
      return token
    })
    const answer = await send(expired)
    expect([answer.status, answer.text]).toEqual([401, (await send(revoked)).text])
  })

  it('ends the console sessions and sign-in links that it opened', async () => {
    const own = { 'longshore-console': '1', origin: platform.apiUrl }
    const signIn = (by: Record<string, string>) =>
      fetch(`${platform.apiUrl}/console/session`, {
        method: 'POST',
        headers: { ...own, 'content-type': 'application/json' },
        body: JSON.stringify(by),
      })
    const read = (cookie: string) =>
      fetch(`${platform.apiUrl}/api/public/v1/user`, { headers: { ...own, cookie } })
    const [expired, revoked] = await expiredAndRevoked(async (token) => {
      const opened = await signIn({ token })
      const cookie = opened.headers.getSetCookie()[0]?.split(';')[0] ?? ''
      expect((await read(cookie)).status).toBe(200)
      return { token, cookie }
    })
    const refused = await bytesOf(await read(expired.cookie))
    expect(refused).toMatchObject({ status: 401 })
    expect(refused).toEqual(await bytesOf(await read(revoked.cookie)))
    expect(await bytesOf(await signIn(expired))).toEqual(await bytesOf(await signIn(revoked)))
    const { token } = await makeToken({ expiresAt: inMinutes(5) })
    const { code } = await platform.sessions.createLink(token)
    await clock.advance(5 * minuteMs)
    expect((await signIn({ code })).status).toBe(401)
  })

  it('ends its MCP sessions', async () => {
    const post = (token: string, message: Record<string, unknown>, session?: string) =>
      fetch(mcpUrl, {
        method: 'POST',
        headers: {
          authorization: token,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(session ? { 'mcp-session-id': session } : {}),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
      })
    const list = { method: 'tools/list', params: {} }
    const [expired, revoked] = await expiredAndRevoked(async (token) => {
      const opened = await post(token, {
        method: 'initialize',
        params: {
          protocolVersion: '2025-06-18',
          capabilities: { elicitation: {} },
          clientInfo: { name: 'test', version: '1' },
        },
      })
      await opened.text()
      const session = opened.headers.get('mcp-session-id') ?? ''
      expect(session).not.toBe('')
      const listed = await post(token, list, session)
      expect([listed.status, await listed.text()]).toEqual([200, expect.stringContaining('get-app-env')])
      return { token, session }
    })
    const refused = await bytesOf(await post(expired.token, list, expired.session))
    expect(refused).toMatchObject({ status: 401 })
    expect(refused).toEqual(await bytesOf(await post(revoked.token, list, revoked.session)))
  })

  it('is listed as expired until it is revoked', async () => {
    const expiresAt = inMinutes(1)
    const { tokenId } = await makeToken({ expiresAt })
    const listed = async () => {
      const { tokens } = (await call('GET', '/user/tokens', platform.admin.token)).json
      return tokens.find((one: Made) => one.tokenId === tokenId)
    }
    expect(await listed()).toMatchObject({ expiresAt, expired: false, lastUsedAt: null })
    await clock.advance(minuteMs)
    expect(await listed()).toMatchObject({ expiresAt, expired: true })
    await call('DELETE', '/user/token', platform.admin.token, { tokenId })
    expect(await listed()).toBeUndefined()
  })
})

describe('the expiry of a new token', () => {
  it('is a time with a zone in the future; anything else is refused with what to send', async () => {
    const user = await platform.makeUser()
    const details = async (expiresAt: unknown) => {
      const answer = await call('POST', '/user/tokens', user.token, { name: 'x', expiresAt })
      return [answer.status, answer.json.error, answer.json.details]
    }
    const format = 'expiresAt: must be an ISO 8601 time with a time zone, such as 2030-01-31T18:00:00Z'
    for (const wrong of ['tomorrow', '2030-01-31', '2030-02-30T00:00:00Z', '2030-01-31T18:00:00', '', 7]) {
      expect(await details(wrong), String(wrong)).toEqual([400, 'Invalid request', format])
    }
    for (const past of ['2020-01-31T18:00:00Z', platform.now]) {
      expect(await details(past)).toEqual([
        400,
        'expiresAt is in the past',
        `expiresAt must be later than now (${platform.now}); leave it out for a token that does not expire.`,
      ])
    }
    expect((await call('GET', '/user/tokens', user.token)).json.tokens).toHaveLength(1)
    const inZone = await call('POST', '/user/tokens', user.token, {
      name: 'x',
      expiresAt: '2030-01-31T18:00:00+02:00',
    })
    expect(inZone.json.expiresAt).toBe('2030-01-31T16:00:00.000Z')
    expect((await call('POST', '/user/tokens', user.token, { name: 'x' })).json.expiresAt).toBeNull()
  })

  it('is not later than that of the token that creates it, and a rotated token keeps its own', async () => {
    const expiresAt = inMinutes(10)
    const parent = await makeToken({ expiresAt })
    for (const input of [{}, { expiresAt: inMinutes(11) }]) {
      const refused = await call('POST', '/user/tokens', parent.token, { name: 'child', ...input })
      expect([refused.status, refused.json.error]).toEqual([
        400,
        'The new token would outlive the token that creates it',
      ])
      expect(refused.json.details).toContain(`expiresAt must be at most ${expiresAt}`)
    }
    const child = await makeToken({ expiresAt: inMinutes(10) }, parent.token)
    const rotated = (await call('POST', '/user/token', parent.token)).json.token
    expect((await call('GET', '/user', rotated)).status).toBe(200)
    await clock.advance(10 * minuteMs)
    for (const token of [rotated, child.token]) {
      expect((await call('GET', '/user', token)).status).toBe(401)
    }
  })
})
