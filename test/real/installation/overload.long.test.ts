import net from 'node:net'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addMember } from '../../../src/contract/members.ts'
import { Installation } from '../../../testkit/platform/installation.ts'

const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_LOG_LEVEL: 'trace' })
beforeAll(() => installation.start())
afterAll(() => installation.dispose())

describe('a half-sent request head', () => {
  const cutAfterMs = (url: string, sent: string) =>
    new Promise<number>((resolve) => {
      const startedMs = performance.now()
      const { hostname, port } = new URL(url)
      const socket = net.connect(Number(port), hostname, () => socket.write(sent))
      socket.on('error', () => {}).resume()
      socket.once('close', () => resolve(performance.now() - startedMs))
    })

  it('is cut off after 15 s by the API and by the gateway, also on a connection that was used before', async () => {
    const { api, gateway } = installation.ready
    const whole = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
    const cuts = await Promise.all(
      [api, gateway].flatMap((url) => [cutAfterMs(url, 'GET /'), cutAfterMs(url, `${whole}GET /`)]),
    )
    for (const cut of cuts) {
      expect(cut).toBeGreaterThan(14_000)
      expect(cut).toBeLessThan(60_000)
    }
  })
})

describe('429', () => {
  const initialize = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  })
  const agent = new Agent({ connections: 40, pipelining: 1 })
  beforeAll(async () => {
    await installation.end('SIGTERM')
    await installation.start({ LONGSHORE_RATE_LIMITS: 'writes=50,reads=500' })
  })
  afterAll(() => agent.close())

  const send = async (token: string, url = `${installation.ready.api}/app`) => {
    const { statusCode, headers, body } = await request(url, {
      method: 'POST',
      headers: { authorization: token, 'content-type': 'application/json' },
      body: url === installation.ready.mcp ? initialize : '{}',
      dispatcher: agent,
    })
    return { status: statusCode, after: headers['retry-after'], text: await body.text() }
  }
  /** Forty callers at once, until one gets Retry-After or all requests are sent. */
  const flood = async (token: string, most: number, url?: string) => {
    let sent = 0
    let before = 0
    const startedMs = performance.now()
    let limited: Awaited<ReturnType<typeof send>> | null = null
    const caller = async () => {
      while (sent < most && limited === null) {
        sent += 1
        const answer = await send(token, url)
        if (answer.status < 400) throw new Error(`let in: ${answer.text}`)
        if (answer.status === 429) limited ??= answer
        else before += 1
      }
    }
    await Promise.all(Array.from({ length: 40 }, caller))
    const seconds = (performance.now() - startedMs) / 1000
    return { before, seconds, limited: limited as Awaited<ReturnType<typeof send>> | null }
  }

  it('limits only the principal that sends too many requests, with Retry-After', async () => {
    const { accountId } = installation.ready
    const member = { accountId, email: 'ada@example.com', name: 'Ada' }
    const { token } = await installation.client().call(addMember, member)
    const { before, seconds, limited } = await flood(token!, 60_000)
    expect(limited).toMatchObject({ status: 429, after: expect.stringMatching(/^[1-9]\d*$/) })
    expect(JSON.parse(limited!.text)).toEqual({ error: 'Too many requests', details: expect.any(String) })
    expect(before).toBeGreaterThanOrEqual(250)
    expect(before).toBeLessThanOrEqual(250 + Math.ceil(50 * seconds))
    expect((await send(installation.token)).status).toBe(400)
  })

  it('holds up an address that guesses tokens, but no good token from there', async () => {
    const { before, seconds, limited } = await flood(`lsu_${'x'.repeat(49)}`, 20_000)
    expect(limited).toMatchObject({ status: 429, after: expect.stringMatching(/^[1-9]\d*$/) })
    expect(before).toBeGreaterThanOrEqual(100)
    expect(before).toBeLessThanOrEqual(100 + Math.ceil(seconds))
    expect((await send(installation.token)).status).toBe(400)
    // /mcp shares the limit, and repeated attempts do not get through.
    const { mcp } = installation.ready
    expect((await flood(`lsu_${'y'.repeat(49)}`, 20_000, mcp)).limited).toMatchObject({
      status: 429,
      after: expect.any(String),
    })
    for (let count = 0; count < 50; count += 1) {
      expect([401, 429]).toContain((await send(`lsu_${'z'.repeat(49)}`, mcp)).status)
    }
    expect((await send(installation.token, mcp)).status).toBe(200)
  })
})
