import type { IncomingMessage } from 'node:http'
import { connect as connectTo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import { createLog } from '../../../src/log.ts'
import { HttpFixture, ping } from '../../../testkit/mcp/http-fixture.ts'

const fixture = new HttpFixture()

describe('a request is refused', () => {
  it('A5 without a token, with 401 and how to send one', async () => {
    for (const authorization of ['', 'Bearer', 'Bearer ']) {
      const answer = await fixture.raw({ headers: { authorization } })
      expect(answer.status).toBe(401)
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
      expect(JSON.parse(answer.body)).toMatchObject({ error: 'User not authenticated' })
    }
  })

  it('A5 with an unknown token, with 401 and not inside a result', async () => {
    await fixture.stop()
    await fixture.serve({
      authenticate: async (token) => {
        if (token !== 'lsu_good') throw new AppError('unauthenticated', 'User not authenticated')
        return 'usr_1'
      },
    })
    expect((await fixture.raw({ headers: { authorization: 'lsu_bad' } })).status).toBe(401)
    expect((await fixture.raw({ headers: { authorization: 'Bearer lsu_good' } })).status).toBe(200)
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
    const answer = await fixture.raw({ headers: headers as unknown as Record<string, string> })
    expect(answer.status).toBe(status)
    if (status !== 200) expect(JSON.parse(answer.body)).toMatchObject({ error: expect.any(String) })
  })

  it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('with method %s: 405', async (method) => {
    const answer = await fixture.raw({ method, body: '' })
    expect(answer.status).toBe(405)
    expect(answer.headers.allow).toBe('POST, DELETE')
  })

  it('with a body that is not UTF-8: 400, not other characters in its place', async () => {
    const call = { name: 'create-app', arguments: { name: 'caf\xe9' } }
    const body = Buffer.from(JSON.stringify({ ...ping, method: 'tools/call', params: call }), 'latin1')
    const answer = await fixture.raw({ body })
    expect([answer.status, JSON.parse(answer.body).error.code]).toEqual([400, -32700])
  })

  it('with a body over the limit: 413 as JSON, declared or not', async () => {
    const body = Buffer.alloc(1024 * 1024 + 1, 32)
    expect((await fixture.raw({ body })).status).toBe(413)
    const chunked = await fixture.raw({ body, headers: { 'transfer-encoding': 'chunked' } })
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
    const answer = await fixture.raw({ body })
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code } })
  })
})

it('a client that disconnects during its request is not logged as an error', async () => {
  await fixture.stop()
  const logged: string[] = []
  await fixture.serve({ log: createLog('test', 'trace', { write: (line) => void logged.push(line) }) })
  const head =
    'POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: lsu_a\r\ncontent-type: application/json\r\n'
  for (const body of [
    'content-length: 100\r\n\r\n{"id"',
    'transfer-encoding: chunked\r\n\r\n5\r\n{"id"\r\n',
  ]) {
    const asked = new Promise<IncomingMessage>((resolve) => fixture.server.once('request', resolve))
    const socket = connectTo(Number(new URL(fixture.url).port), '127.0.0.1', () => socket.write(head + body))
    const left = new Promise((resolve) => asked.then((req) => req.once('close', resolve)))
    await asked
    socket.destroy()
    await left
  }
  expect((await fixture.raw({})).status).toBe(200)
  expect(logged).toEqual([])
})
