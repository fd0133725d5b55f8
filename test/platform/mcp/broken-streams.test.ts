import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../src/log.ts'
import { createMcpHttpHandler, type McpHttpHandler } from '../../../src/mcp/transport/http/handler.ts'
import type { McpHttpLimits } from '../../../src/mcp/transport/http/options.ts'
import { type FakeBackend, startFakeBackend, untilReadsStop } from '../../../testkit/fakes/backend.ts'
import { hurriedClock, replyOf } from '../../../testkit/mcp/tool-session.ts'
import { until } from '../../../testkit/until.ts'
import { tools } from '../../../tools/index.ts'

let backend: FakeBackend
let server: Server
let handler: McpHttpHandler
let url: string

beforeEach(async () => {
  backend = await startFakeBackend()
  backend.state.add({ name: 'prod' })
})
afterEach(async () => {
  handler.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await backend.close()
})

async function serve(limits: Partial<McpHttpLimits> = {}, clock = hurriedClock): Promise<void> {
  handler = createMcpHttpHandler({
    registry: tools,
    apiUrl: () => backend.url,
    log: createLog('test', 'silent'),
    clock,
    limits,
  })
  server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

const common = { authorization: 'lsu_a', accept: 'application/json, text/event-stream' }

async function openSession(protocolVersion = '2025-11-25'): Promise<Record<string, string>> {
  const params = {
    protocolVersion,
    capabilities: { elicitation: {} },
    clientInfo: { name: 'raw', version: '1' },
  }
  const answer = await post({}, { jsonrpc: '2.0', id: 0, method: 'initialize', params })
  await answer.text()
  return {
    'mcp-session-id': answer.headers.get('mcp-session-id')!,
    'mcp-protocol-version': protocolVersion,
  }
}

function post(headers: Record<string, string>, body: unknown, signal?: AbortSignal): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { ...common, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: signal ?? null,
  })
}

function takeUp(headers: Record<string, string>, lastEventId: string): Promise<Response> {
  return fetch(url, { headers: { ...common, ...headers, 'last-event-id': lastEventId } })
}

const deploy = (id: number, envName = 'shop-prod') => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: {
    name: 'deploy-app-env-image',
    arguments: { envName, image: 'shop:2' },
    _meta: { progressToken: id },
  },
})

interface Event {
  id: string
  // biome-ignore lint/suspicious/noExplicitAny: each test reads other fields
  message: any
}

/** Events of a stream up to `until`, or its end. */
async function eventsOf(answer: Response, until: (event: Event) => boolean = () => false): Promise<Event[]> {
  const events: Event[] = []
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop()!
    for (const block of blocks) {
      const field = (name: string) => block.match(new RegExp(`^${name}: ?(.*)$`, 'm'))?.[1] ?? ''
      if (field('id') === '') continue
      const data = field('data')
      events.push({ id: field('id'), message: data === '' ? null : JSON.parse(data) })
      if (until(events.at(-1)!)) return events
    }
  }
  return events
}

describe('a stream whose connection broke', () => {
  it('resumes without lost or repeated events', async () => {
    await serve()
    const session = await openSession()
    backend.state.plans = [{ reads: 25 }]
    const controller = new AbortController()
    const first = await eventsOf(
      await post(session, deploy(7), controller.signal),
      ({ message }) => message !== null,
    )
    controller.abort()
    expect(first[0]).toMatchObject({ message: null })
    const rest = await eventsOf(await takeUp(session, first.at(-1)!.id))
    const all = [...first, ...rest]
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
    const progress = all.flatMap(({ message }) =>
      message?.method === undefined ? [] : [message.params.progress],
    )
    expect(progress).toEqual([...progress].sort((one, other) => one - other))
    expect(all.at(-1)!.message).toMatchObject({
      id: 7,
      result: { structuredContent: { deployment: { outcome: 'serves' } } },
    })
    expect(backend.state.countOf('deploy-app-env-image')).toBe(1)
  })

  it('keeps a response that arrived in the meantime, and repeats it if it was not received', async () => {
    await serve()
    const session = await openSession()
    backend.state.plans = [{ reads: 6 }]
    const controller = new AbortController()
    const [primed] = await eventsOf(await post(session, deploy(8), controller.signal), () => true)
    controller.abort()
    await until(() => backend.state.countOf('get-app-env-status') > 6)
    await untilReadsStop(backend)
    const events = await eventsOf(await takeUp(session, primed!.id))
    expect(events.at(-1)!.message).toMatchObject({ id: 8, result: {} })
  })

  it('gives way to later ones when a session keeps much', async () => {
    await serve({ brokenStreamMs: 86_400_000, sessionIdleMs: 86_400_000 })
    const session = await openSession('2025-03-26')
    backend.state.plans = Array.from({ length: 8 }, () => ({ reads: 1_000_000 }))
    const lists = [...'abcdef'].map((id) => ({ jsonrpc: '2.0', id, method: 'tools/list', params: {} }))
    const broken: string[] = []
    for (let number = 1; number <= 8; number += 1) {
      const controller = new AbortController()
      const answer = await post(session, [...lists, deploy(number)], controller.signal)
      const [primed] = await eventsOf(answer, ({ message }) => message?.method === 'notifications/progress')
      controller.abort()
      broken.push(primed!.id)
    }
    // Ended when the sixth broke, at the latest.
    expect((await takeUp(session, broken[0]!)).status).toBe(400)
    expect((await takeUp(session, broken[7]!)).status).toBe(200)
  })

  it('expires, and then the wait of its call ends', async () => {
    await serve({ brokenStreamMs: 4_000 })
    const session = await openSession()
    backend.state.plans = [{ reads: 1_000_000 }]
    const controller = new AbortController()
    const [primed] = await eventsOf(await post(session, deploy(9), controller.signal), () => true)
    await until(() => backend.state.countOf('get-app-env-status') > 3)
    controller.abort()
    await untilReadsStop(backend)
    const answer = await takeUp(session, primed!.id)
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: 'Stream not found' })
  })

  it('is not available to another session or another token', async () => {
    await serve()
    const session = await openSession()
    const other = await openSession()
    backend.state.plans = [{ reads: 1_000_000 }]
    const controller = new AbortController()
    const [primed] = await eventsOf(await post(session, deploy(10), controller.signal), () => true)
    controller.abort()
    expect((await takeUp(other, primed!.id)).status).toBe(400)
    expect((await takeUp({ ...session, authorization: 'lsu_other' }, primed!.id)).status).toBe(404)
    expect((await takeUp({}, primed!.id)).status).toBe(405)
  })

  it('is resumed automatically by the client of the library', async () => {
    await serve()
    backend.state.plans = [{ reads: 60 }]
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } })
    await client.connect(
      new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: { authorization: 'lsu_a' } },
        reconnectionOptions: {
          initialReconnectionDelay: 5,
          maxReconnectionDelay: 5,
          reconnectionDelayGrowFactor: 1,
          maxRetries: 20,
        },
      }),
    )
    let broken = 0
    const result = await client.callTool(
      { name: 'deploy-app-env-image', arguments: { envName: 'shop-prod', image: 'shop:2' } },
      undefined,
      {
        onprogress() {
          if (broken >= 2) return
          broken += 1
          server.closeAllConnections()
        },
      },
    )
    await client.close()
    expect(broken).toBe(2)
    expect(replyOf(result).structured).toMatchObject({ deployment: { outcome: 'serves' } })
    expect(backend.state.countOf('deploy-app-env-image')).toBe(1)
  })
})

describe('a session', () => {
  it('that ends answers its calls in flight and ends their waits', async () => {
    await serve()
    const session = await openSession()
    backend.state.plans = [{ reads: 1_000_000 }]
    const calling = post(session, deploy(11)).then((answer) => eventsOf(answer))
    await until(() => backend.state.countOf('get-app-env-status') > 3)
    expect((await fetch(url, { method: 'DELETE', headers: { ...common, ...session } })).status).toBe(204)
    expect((await calling).at(-1)!.message).toMatchObject({
      id: 11,
      error: { message: expect.stringContaining('Canceled') },
    })
    await untilReadsStop(backend)
  })

  it('ends a wait when the client cancels, and never answers that request', async () => {
    await serve()
    const session = await openSession()
    backend.state.plans = [{ reads: 1_000_000 }]
    const calling = post(session, deploy(12)).then((answer) => eventsOf(answer))
    await until(() => backend.state.countOf('get-app-env-status') > 3)
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 12 } }
    expect((await post(session, cancel)).status).toBe(202)
    expect((await calling).some(({ message }) => message?.id === 12)).toBe(false)
    await untilReadsStop(backend)
  })
})

describe('a platform that stops', () => {
  it('answers waiting calls, with or without a session, and lets short calls finish', async () => {
    // The time for short calls is over when this test says so.
    let endGrace: (() => void) | null = null
    let isClosing = false
    await serve(
      {},
      {
        ...hurriedClock,
        after: (delayMs, task) => {
          if (!isClosing) return hurriedClock.after(delayMs, task)
          endGrace = task
          return () => {}
        },
      },
    )
    const session = await openSession()
    backend.state.add({ name: 'other' })
    let release = () => {}
    backend.state.held.set('list-accounts', new Promise((resolve) => (release = resolve)))
    backend.state.plans = [{ reads: 1_000_000 }, { reads: 1_000_000 }]
    const short = post({}, { ...deploy(1), params: { name: 'list-accounts', arguments: {} } })
    const waits = [post(session, deploy(13)), post({}, deploy(14, 'shop-other'))].map(async (calling) =>
      eventsOrAnswer(await calling),
    )
    await until(
      () => backend.state.countOf('get-app-env-status') > 6 && backend.state.countOf('list-accounts') > 0,
    )
    isClosing = true
    handler.close()
    isClosing = false
    release()
    expect(await (await short).json()).toMatchObject({ id: 1, result: { structuredContent: {} } })
    endGrace!()
    for (const wait of await Promise.all(waits)) {
      expect(wait).toMatchObject({ error: { message: expect.stringContaining('Canceled') } })
    }
    await untilReadsStop(backend)
  })
})

/** The last message of a POST's response, as JSON or as an event. */
async function eventsOrAnswer(answer: Response): Promise<unknown> {
  const text = await answer.text()
  return JSON.parse(text.startsWith('{') ? text : text.trim().split('\ndata: ').at(-1)!)
}
