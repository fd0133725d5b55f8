import { Agent, createServer, type IncomingMessage, request, type Server } from 'node:http'
import { type AddressInfo, connect as connectTo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { AppError } from '../../../src/errors.ts'
import { createLog } from '../../../src/log.ts'
import { createMcpHttpHandler, type McpHttpHandler } from '../../../src/mcp/transport/http.ts'
import type { McpHttpOptions } from '../../../src/mcp/transport/http-options.ts'
import { type FakeBackend, startFakeBackend } from '../../../testkit/fakes/backend.ts'
import { hurriedClock, replyOf } from '../../../testkit/mcp/tool-session.ts'
import { tools } from '../../../tools/index.ts'

let backend: FakeBackend
let server: Server
let handler: McpHttpHandler
let url: string
const clients: Client[] = []

beforeEach(async () => {
  backend = await startFakeBackend()
  backend.state.add({ name: 'prod' })
  await serve({})
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  await stop()
  await backend.close()
})

async function serve(options: Partial<McpHttpOptions>): Promise<void> {
  handler = createMcpHttpHandler({
    registry: tools,
    apiUrl: () => backend.url,
    log: createLog('test', 'silent'),
    clock: hurriedClock,
    ...options,
  })
  server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

async function stop(): Promise<void> {
  handler.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

async function connect(token = 'lsu_a', person?: () => boolean): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: person === undefined ? {} : { elicitation: {} } },
  )
  if (person !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { agree: person() } }))
  }
  clients.push(client)
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  )
  return client
}

interface Raw {
  status: number
  headers: IncomingMessage['headers']
  body: string
}

/** A raw request, for cases that a well-behaved client cannot send. */
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
afterAll(() => agent.destroy())

function raw(options: {
  method?: string
  headers?: Record<string, string>
  body?: string | Buffer
}): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const req = request(url, {
      agent,
      method: options.method ?? 'POST',
      headers: {
        authorization: 'lsu_a',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...options.headers,
      },
    })
    req.once('error', reject)
    req.once('response', (res) => {
      let body = ''
      res.setEncoding('utf8').on('data', (chunk) => {
        body += chunk
      })
      res.once('end', () => resolve({ status: res.statusCode!, headers: res.headers, body }))
    })
    req.end(options.body ?? JSON.stringify(ping))
  })
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
const rpc = (method: string, params: unknown, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

describe('a client', () => {
  it('lists and calls tools as its own token', async () => {
    const client = await connect('lsu_me')
    expect((await client.listTools()).tools).toHaveLength(tools.length)
    const said = replyOf(await client.callTool({ name: 'get-app-env', arguments: { envName: 'shop-prod' } }))
    expect(said.text).toMatch(/^shop-prod is RUNNING at version 3\./)
    expect(backend.state.calls).toMatchObject([{ id: 'get-app-env', token: 'lsu_me', surface: 'mcp' }])
    expect(handler.sessionCount).toBe(0)
  })

  it('gets progress while a deployment is waited for', async () => {
    backend.state.plans = [{ reads: 4 }]
    const client = await connect()
    const messages: unknown[] = []
    const result = await client.callTool(
      { name: 'deploy-app-env-image', arguments: { envName: 'shop-prod', image: 'shop:2' } },
      undefined,
      { onprogress: ({ message }) => messages.push(message) },
    )
    expect(replyOf(result).structured).toMatchObject({ deployment: { outcome: 'serves' } })
    expect(messages.length).toBeGreaterThanOrEqual(3)
  })

  it('that supports elicitation gets a session, and its person confirms a deletion', async () => {
    let agrees = false
    const client = await connect('lsu_a', () => agrees)
    expect(handler.sessionCount).toBe(1)
    const remove = { name: 'delete-app-env', arguments: { envName: 'shop-prod', confirm: 'shop-prod' } }
    expect(replyOf(await client.callTool(remove)).structured.error).toBe('The person did not agree')
    expect(backend.state.envs.size).toBe(1)
    agrees = true
    expect(replyOf(await client.callTool(remove)).isError).toBe(false)
    expect(backend.state.envs.size).toBe(0)
  })

  it('without elicitation needs confirm', async () => {
    const client = await connect()
    const remove = { name: 'delete-app-env', arguments: { envName: 'shop-prod' } }
    expect(replyOf(await client.callTool(remove)).structured.error).toBe('Confirmation needed')
    expect(backend.state.envs.size).toBe(1)
  })

  it('that disconnects ends the wait of its call', async () => {
    backend.state.plans = [{ reads: 1_000_000 }]
    const controller = new AbortController()
    const body = rpc('tools/call', {
      name: 'deploy-app-env-image',
      arguments: { envName: 'shop-prod', image: 'shop:2' },
    })
    const call = fetch(url, {
      method: 'POST',
      body,
      signal: controller.signal,
      headers: { authorization: 'lsu_a', 'content-type': 'application/json', accept: '*/*' },
    }).catch((error) => error.name)
    await until(() => backend.state.countOf('get-app-env-status') > 3)
    controller.abort()
    expect(await call).toBe('AbortError')
    let seen = -1
    await until(() => {
      const count = backend.state.countOf('get-app-env-status')
      const isStill = count === seen
      seen = count
      return isStill
    }, 200)
  })
})

/** Polls a condition, `pauseMs` apart. */
async function until(condition: () => boolean, pauseMs = 5): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, pauseMs))
}

describe('sessions', () => {
  const initialize = rpc('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: {} },
    clientInfo: { name: 'raw', version: '1' },
  })

  it('work only with the token that opened them', async () => {
    const id = (await raw({ body: initialize })).headers['mcp-session-id'] as string
    const list = { body: rpc('tools/list', {}), headers: { 'mcp-session-id': id } }
    expect((await raw(list)).status).toBe(200)
    const other = await raw({ ...list, headers: { ...list.headers, authorization: 'lsu_other' } })
    const unknown = await raw({ ...list, headers: { 'mcp-session-id': 'nothing' } })
    expect(other.status).toBe(404)
    expect(other.body).toBe(unknown.body)
  })

  it('end with DELETE', async () => {
    const id = (await raw({ body: initialize })).headers['mcp-session-id'] as string
    expect((await raw({ method: 'DELETE', body: '', headers: { 'mcp-session-id': id } })).status).toBe(204)
    expect(handler.sessionCount).toBe(0)
    expect((await raw({ headers: { 'mcp-session-id': id } })).status).toBe(404)
  })

  it('are limited: the longest idle one is closed first', async () => {
    await stop()
    await serve({ limits: { sessions: 3 } })
    const ids: string[] = []
    for (let count = 0; count < 5; count += 1) {
      ids.push((await raw({ body: initialize })).headers['mcp-session-id'] as string)
    }
    expect(handler.sessionCount).toBe(3)
    const statuses = await Promise.all(
      ids.map(async (id) => (await raw({ headers: { 'mcp-session-id': id } })).status),
    )
    expect(statuses).toEqual([404, 404, 200, 200, 200])
  })

  it('are limited by principal: one with many tokens never closes a session of another principal', async () => {
    await stop()
    const authenticate = async (token: string) => (token.startsWith('lsu_greedy') ? 'usr_greedy' : token)
    await serve({ authenticate, limits: { sessions: 5, sessionsOfOne: 2 } })
    const open = async (authorization: string) =>
      (await raw({ body: initialize, headers: { authorization } })).headers['mcp-session-id']
    const mine = (await open('lsu_a')) as string
    for (let count = 0; count < 10; count += 1) expect(await open(`lsu_greedy${count}`)).toBeDefined()
    expect(handler.sessionCount).toBe(3)
    expect((await raw({ headers: { 'mcp-session-id': mine, authorization: 'lsu_a' } })).status).toBe(200)
  })

  it('are at most 100 of one principal: one more closes its longest idle one', async () => {
    const open = async () => (await raw({ body: initialize })).headers['mcp-session-id'] as string
    const oldest = await open()
    const next = await open()
    for (let count = 2; count < 101; count += 1) await open()
    expect(handler.sessionCount).toBe(100)
    expect((await raw({ headers: { 'mcp-session-id': oldest } })).status).toBe(404)
    expect((await raw({ headers: { 'mcp-session-id': next } })).status).toBe(200)
  })

  it('are not opened when others use all places; the request itself is still answered', async () => {
    await stop()
    await serve({ limits: { sessions: 2 } })
    const open = async (authorization: string) => raw({ body: initialize, headers: { authorization } })
    const mine = (await open('lsu_a')).headers['mcp-session-id'] as string
    await open('lsu_b')
    const late = await open('lsu_c')
    expect([late.status, late.headers['mcp-session-id']]).toEqual([200, undefined])
    expect((await raw({ headers: { 'mcp-session-id': mine, authorization: 'lsu_a' } })).status).toBe(200)
  })

  it('are not kept while the principal is unknown because the store is unavailable', async () => {
    await stop()
    await serve({
      authenticate: async () => {
        throw new AppError('unavailable', 'The store is away')
      },
    })
    const answer = await raw({ body: initialize })
    expect([answer.status, answer.headers['mcp-session-id']]).toEqual([200, undefined])
  })

  it('expire when they are not used', async () => {
    await stop()
    let nowMs = 0
    const tasks: { at: number; task: () => void }[] = []
    const clock = {
      ...systemClock,
      monotonicMs: () => nowMs,
      after(delayMs: number, task: () => void) {
        const entry = { at: nowMs + delayMs, task }
        tasks.push(entry)
        return () => {
          if (tasks.includes(entry)) tasks.splice(tasks.indexOf(entry), 1)
        }
      },
    }
    await serve({ clock, limits: { sessionIdleMs: 1_000 } })
    await raw({ body: initialize })
    expect(handler.sessionCount).toBe(1)
    nowMs = 1_000
    for (const due of tasks.splice(0)) due.task()
    expect(handler.sessionCount).toBe(0)
  })
})

describe('a request is refused', () => {
  it('A5 without a token, with 401 and how to send one', async () => {
    for (const authorization of ['', 'Bearer', 'Bearer ']) {
      const answer = await raw({ headers: { authorization } })
      expect(answer.status).toBe(401)
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
      expect(JSON.parse(answer.body)).toMatchObject({ error: 'User not authenticated' })
    }
  })

  it('A5 with an unknown token, with 401 and not inside a result', async () => {
    await stop()
    await serve({
      authenticate: async (token) => {
        if (token !== 'lsu_good') throw new AppError('unauthenticated', 'User not authenticated')
        return 'usr_1'
      },
    })
    expect((await raw({ headers: { authorization: 'lsu_bad' } })).status).toBe(401)
    expect((await raw({ headers: { authorization: 'Bearer lsu_good' } })).status).toBe(200)
  })

  it.each([
    [{ origin: 'http://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://localhost.evil.example' }, 403],
    [{ origin: 'http://localhost:6274' }, 200],
    [{ host: 'evil.example' }, 403],
    [{ host: 'evil.example', origin: 'http://evil.example' }, 403],
    [{ host: 'localhost:4400' }, 200],
    [{ host: '[::1]:4400' }, 200],
    [{ 'mcp-protocol-version': '1999-01-01' }, 400],
    [{ 'mcp-protocol-version': '2025-06-18' }, 200],
    [{ accept: 'text/html' }, 406],
    [{ 'content-type': 'text/plain' }, 415],
  ])('or served: %j gives %i', async (headers, status) => {
    const answer = await raw({ headers: headers as unknown as Record<string, string> })
    expect(answer.status).toBe(status)
    if (status !== 200) expect(JSON.parse(answer.body)).toMatchObject({ error: expect.any(String) })
  })

  it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('with method %s: 405', async (method) => {
    const answer = await raw({ method, body: '' })
    expect(answer.status).toBe(405)
    expect(answer.headers.allow).toBe('POST, DELETE')
  })

  it('with a body over the limit: 413 as JSON, declared or not', async () => {
    const body = Buffer.alloc(1024 * 1024 + 1, 32)
    expect((await raw({ body })).status).toBe(413)
    const chunked = await raw({ body, headers: { 'transfer-encoding': 'chunked' } })
    expect(chunked.status).toBe(413)
    expect(JSON.parse(chunked.body)).toMatchObject({ error: 'Request too large' })
  })

  it.each([
    ['{', -32700],
    ['[]', -32600],
    ['1', -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
    [JSON.stringify([ping, ping]), -32600],
  ])('with the body %s: a protocol error', async (body, code) => {
    const answer = await raw({ body })
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code } })
  })
})

it('a client that disconnects during its request is not logged as an error', async () => {
  await stop()
  const logged: string[] = []
  await serve({ log: createLog('test', 'trace', { write: (line) => void logged.push(line) }) })
  const head =
    'POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: lsu_a\r\ncontent-type: application/json\r\n'
  for (const body of [
    'content-length: 100\r\n\r\n{"id"',
    'transfer-encoding: chunked\r\n\r\n5\r\n{"id"\r\n',
  ]) {
    const asked = new Promise<IncomingMessage>((resolve) => server.once('request', resolve))
    const socket = connectTo(Number(new URL(url).port), '127.0.0.1', () => socket.write(head + body))
    const left = new Promise((resolve) => asked.then((req) => req.once('close', resolve)))
    await asked
    socket.destroy()
    await left
  }
  expect((await raw({})).status).toBe(200)
  expect(logged).toEqual([])
})

describe('one POST', () => {
  it('may carry several messages, answered together', async () => {
    const answer = await raw({ body: JSON.stringify([ping, { ...ping, id: 'b' }]) })
    const ids = (JSON.parse(answer.body) as { id: unknown }[]).map((one) => one.id)
    expect(ids.sort()).toEqual([1, 'b'])
  })

  it('with notifications only is accepted', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expect((await raw({ body })).status).toBe(202)
  })

  it('is answered as a stream if the client accepts nothing else', async () => {
    const answer = await raw({ headers: { accept: 'text/event-stream' } })
    expect(answer.headers['content-type']).toBe('text/event-stream')
    expect(answer.body).toBe(
      `event: message\ndata: ${JSON.stringify({ result: {}, jsonrpc: '2.0', id: 1 })}\n\n`,
    )
  })
})

it('10,000 calls of 64 clients with the same request ids do not cross', async () => {
  const perClient = Math.ceil(10_000 / 64)
  // Each response contains the token of its request.
  for (let index = 0; index < 64; index += 1) {
    backend.state.envs.set(`mirror-lsu_c${index}`, backend.state.env({ envName: 'shop-prod' }))
  }
  let answered = 0
  const crossed: string[] = []
  const one = async (index: number) => {
    for (let id = 0; id < perClient; id += 1) {
      const body = rpc('tools/call', { name: 'get-app-env', arguments: { envName: 'shop-prod' } }, id)
      const answer = JSON.parse((await raw({ body, headers: { authorization: `lsu_c${index}` } })).body)
      const { name } = answer.result.structuredContent
      if (answer.id !== id || name !== `lsu_c${index}`)
        crossed.push(`${index}/${id} got ${name}/${answer.id}`)
      answered += 1
    }
  }
  await Promise.all(Array.from({ length: 64 }, (_, index) => one(index)))
  expect(crossed).toEqual([])
  expect(answered).toBe(perClient * 64)
})
