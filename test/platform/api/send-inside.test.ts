import fastify from 'fastify'
import Fastify from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { discardRest } from '../../../src/api/raw-errors.ts'
import { sendInside } from '../../../src/api/send-inside.ts'
import { sendWithUndici } from '../../../src/client/undici-send.ts'
import { AppError } from '../../../src/errors.ts'
import { base, goodToken, type ScriptedServer, startScripted } from '../../../testkit/api/scripted-server.ts'

let on: ScriptedServer
beforeAll(async () => {
  on = await startScripted()
})
afterAll(() => on.server.close())
beforeEach(() => {
  on.calls.length = 0
  on.answer.run = () => ({ status: 200, body: '{"appId":"app_1"}' })
})

interface Asked {
  method?: string
  path: string
  body?: string
  headers?: Record<string, string>
}

const json = { 'content-type': 'application/json' }

/** What differs between two requests in any case is left out. */
async function bothWays({ method = 'GET', path, body, headers = {} }: Asked) {
  const request = {
    method,
    headers: { authorization: goodToken, ...headers },
    body: body ?? null,
    signal: undefined,
  }
  const ways = [sendWithUndici, on.server.send].map(async (send) => {
    const { status, header, text } = await send(on.url + path, request)
    return { status, type: header('content-type'), retry: header('retry-after'), text }
  })
  return Promise.all(ways)
}

describe('requests of the process to itself', () => {
  it.each<[string, Asked & { status: number }]>([
    ['a read', { path: `${base}/app?appId=app_1`, status: 200 }],
    ['a write', { method: 'POST', path: `${base}/app`, body: '{}', headers: json, status: 400 }],
    ['another token', { path: `${base}/accounts`, headers: { authorization: 'lsu_x' }, status: 401 }],
    ['another host', { path: `${base}/accounts`, headers: { host: 'example.com' }, status: 403 }],
    ['a page of another origin', { path: base, headers: { origin: 'http://example.com' }, status: 403 }],
    ['no JSON', { method: 'POST', path: `${base}/app`, body: '{', headers: json, status: 400 }],
    [
      'a long body',
      { method: 'POST', path: `${base}/app`, body: ' '.repeat(1_048_577), headers: json, status: 413 },
    ],
    ['an unknown path', { path: `${base}/nowhere`, status: 404 }],
  ])('are answered as those of a connection: %s', async (_what, { status, ...asked }) => {
    const [over, inside] = await bothWays(asked)
    expect(inside).toEqual(over)
    expect(inside?.status).toBe(status)
  })

  it('bring the input, the trace and the errors of an operation', async () => {
    on.answer.run = () => {
      throw new AppError('rate-limited', 'Too many requests', { retryAfterSeconds: 3 })
    }
    const [over, inside] = await bothWays({ path: `${base}/app?appId=app_1`, headers: { traceparent: 'x' } })
    expect(inside).toEqual(over)
    expect(inside).toMatchObject({ status: 429, retry: '3' })
    expect(on.calls[0]?.input).toEqual(on.calls[1]?.input)
  })

  it('are one line of the log each, like others', async () => {
    const before = on.logged().length
    await bothWays({ path: `${base}/app?appId=app_1` })
    await new Promise((resolve) => setImmediate(resolve))
    const lines = on.logged().slice(before).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line)).map(({ msg, left }) => ({ msg, left }))).toEqual([
      { msg: 'request', left: undefined },
      { msg: 'request', left: undefined },
    ])
  })

  it('have no connection that could be ended after the response', async () => {
    const app = fastify()
    app.addHook('onResponse', async (request) => discardRest(request.raw, 0))
    app.post('/read', async () => 'ok')
    app.post('/unread', { onRequest: async (_request, reply) => reply.send('ok') }, async () => 'never')
    for (const url of ['/read', '/unread']) {
      expect((await app.inject({ method: 'POST', url, payload: '{}', headers: json })).payload).toBe('ok')
    }
    // An error in the timer would end the process.
    await new Promise((resolve) => setTimeout(resolve, 50))
    await app.close()
  })

  it('end after a limit, as those of a connection do', async () => {
    const app = Fastify()
    app.get('/', () => new Promise(() => {}))
    const request = { method: 'GET', headers: {}, body: null, signal: undefined }
    await expect(sendInside(app, 20)(on.url, request)).rejects.toThrow()
  })

  it('end when their caller leaves', async () => {
    const leaving = new AbortController()
    on.answer.run = () => {
      leaving.abort()
      return new Promise(() => {})
    }
    const request = { method: 'GET', headers: { authorization: goodToken }, body: null }
    await expect(
      on.server.send(`${on.url}${base}/accounts`, { ...request, signal: leaving.signal }),
    ).rejects.toThrow('aborted')
  })
})
