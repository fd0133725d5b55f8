import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import {
  base,
  bodyOf,
  goodToken,
  raw,
  type ScriptedServer,
  send,
  startScripted,
} from '../../../testkit/api/scripted-server.ts'
import { until } from '../../../testkit/until.ts'

let on: ScriptedServer
afterEach(() => on.server.close())

/** A GET with chosen Host and Origin, which fetch does not allow. */
function get(path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { port: on.port, host: '127.0.0.1', path, headers, agent: false },
      (response) => {
        response.resume().on('end', () => resolve(response.statusCode!))
      },
    )
    request.on('error', reject).end()
  })
}

describe('Host and Origin', () => {
  it.each([
    ['127.0.0.1:4400', 200],
    ['localhost', 200],
    ['LOCALHOST.:80', 200],
    ['[::1]:4400', 200],
    ['127.8.9.1', 200],
    ['longshore.example.com', 200],
    ['evil.example.com', 403],
    ['127.0.0.1.evil.com', 403],
    ['app.fn.localhost:4480', 403],
    ['localhost.evil', 403],
    ['user@localhost', 400],
    ['a b', 400],
  ])('bound to loopback, Host %s is answered %i', async (host, status) => {
    on = await startScripted({ installationName: 'longshore.example.com', mcp: (_q, r) => r.end('{}') })
    // Twice: a rejected value must not be cached as accepted.
    for (const path of ['/healthz', '/mcp', '/healthz']) expect(await get(path, { host })).toBe(status)
  })

  it.each([
    ['http://localhost:6274', 200],
    ['http://127.0.0.1:4400', 200],
    ['https://longshore.example.com', 200],
    ['http://app.fn.localhost:4480', 403],
    ['https://evil.example.com', 403],
    ['http://localhost.evil.com', 403],
    ['null', 403],
    ['file://', 403],
    ['chrome-extension://abc', 403],
  ])('bound to loopback, Origin %s is answered %i', async (origin, status) => {
    on = await startScripted({ installationName: 'longshore.example.com', mcp: (_q, r) => r.end('{}') })
    for (const path of ['/healthz', '/mcp']) expect(await get(path, { origin })).toBe(status)
  })

  it('bound to every address, accepts any Host, and only pages of the same host', async () => {
    on = await startScripted({ host: '0.0.0.0' })
    expect(await get('/healthz', { host: '10.1.2.3:4400' })).toBe(200)
    expect(await get('/healthz', { host: 'a.example:4400', origin: 'http://a.example:4400' })).toBe(200)
    expect(await get('/healthz', { host: 'a.example:4400', origin: 'http://a.example' })).toBe(403)
    expect(await get('/healthz', { host: 'a.example:4400', origin: 'http://localhost' })).toBe(403)
  })
})

describe('malformed requests', () => {
  const line = `GET ${base}/accounts HTTP/1.1\r\nHost: localhost\r\n`
  it.each([
    ['garbage', 'hello there\r\n\r\n', 400],
    ['HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['a bad header', `${line}Bad@Header: x\r\n\r\n`, 400],
    [
      'both lengths',
      `POST ${base}/app HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'two lengths',
      `POST ${base}/app HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc`,
      400,
    ],
    ['a bad length', `POST ${base}/app HTTP/1.1\r\nHost: localhost\r\nContent-Length: -3\r\n\r\nabc`, 400],
    ['huge headers', `${line}X: ${'x'.repeat(40_000)}\r\n\r\n`, 413],
    ['a huge address', `GET /${'x'.repeat(40_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 413],
    ['no Host', `GET ${base}/accounts HTTP/1.1\r\nConnection: close\r\n\r\n`, 400],
    ['an odd Expect', `${line}Expect: 200-maybe\r\nConnection: close\r\n\r\n`, 400],
    [
      'a bad percent code',
      `GET ${base}/%e0%a4%a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      400,
    ],
    [
      'a very long parameter',
      `PUT /uploads/${'x'.repeat(300)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      404,
    ],
    ['an asterisk', `OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`, 404],
    [
      'an absolute address',
      `GET http://localhost/nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      404,
    ],
  ])('%s is answered in our shape', async (_what, bytes, status) => {
    on = await startScripted()
    const response = await raw(on.port, bytes)
    expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(response.toLowerCase()).toContain('content-type: application/json; charset=utf-8\r\n')
    expect(response.toLowerCase()).toMatch(/x-request-id: [0-9a-f-]{36}\r\n/)
    expect(Object.keys(bodyOf(response)).every((key) => key === 'error' || key === 'details')).toBe(true)
    expect(bodyOf(response).error).toEqual(expect.any(String))
    expect(await get('/healthz', {})).toBe(200)
  })

  it('headers of 10 MB get our error body too', async () => {
    on = await startScripted()
    for (let turn = 0; turn < 3; turn += 1) {
      const response = await raw(on.port, `${line}X: ${'x'.repeat(10_000_000)}\r\n\r\n`)
      expect(bodyOf(response).error).toBe('Request headers too large')
    }
  })

  it.each([
    ['a broken chunk', 'zz\r\n{}\r\n0\r\n\r\n'],
    ['a trailer without a colon', '2\r\n{}\r\n0\r\ntrailer\r\n\r\n'],
    ['a trailer with a control character', '2\r\n{}\r\n0\r\na: b\0\r\n\r\n'],
    ['a length in a trailer', '2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n'],
  ])('%s in a body is 400 and reaches no operation', async (_what, body) => {
    on = await startScripted()
    const head = `POST ${base}/app HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${goodToken}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    const response = await raw(on.port, head + body)
    expect(response).toContain('HTTP/1.1 400 Bad Request\r\n')
    expect(bodyOf(response).error).toBe('Malformed HTTP request')
    expect(on.calls).toHaveLength(0)
    expect(await get('/healthz', {})).toBe(200)
  })

  it('what follows a request is never answered in its place', async () => {
    on = await startScripted()
    let arrived!: () => void
    const running = new Promise<void>((resolve) => {
      arrived = resolve
    })
    on.answer.run = () => {
      arrived()
      return new Promise(() => {})
    }
    const whole = `GET ${base}/app-env?appEnvId=env_1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${goodToken}\r\n\r\n`
    const response = raw(on.port, `${whole}junk\r\n\r\n`)
    await running
    expect(await response).toBe('')
  })

  it('a head that stops arriving gets 400 after its timeout', async () => {
    on = await startScripted({ headTimeoutMs: 150 })
    const whole = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
    for (const sent of ['GET /hea', `${whole}GET /healthz HTTP/1.1\r\nHost: loc`]) {
      const response = await raw(on.port, sent)
      expect(response).toContain('HTTP/1.1 400 Bad Request\r\n')
      expect(response).toContain('The request did not arrive')
    }
  })

  it('a body that stops arriving gets 400 after its timeout', async () => {
    on = await startScripted({ bodyTimeoutMs: 50 })
    const head = `POST ${base}/app HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${goodToken}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"na`
    const response = await raw(on.port, head, (text) => text.includes('seconds'))
    expect(response).toMatch(/^HTTP\/1.1 400 /)
    expect(response).toContain('must arrive within 0.05 seconds')
  })

  it('a caller that disconnects during a body is not logged as a bug', async () => {
    on = await startScripted()
    const head = `POST ${base}/app HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${goodToken}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"na`
    const socket = connect(on.port, '127.0.0.1', () =>
      socket.write(head, () => setImmediate(() => socket.destroy())),
    )
    await until(() => on.logged().includes('"request"'))
    expect(on.logged()).not.toContain('"level":50')
  })

  it('answers pipelined requests in order and keeps the connection', async () => {
    on = await startScripted()
    const one = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
    const text = await raw(on.port, one('/healthz') + one('/nowhere') + one('/readyz'), (all) =>
      all.includes('"ready"'),
    )
    expect([...text.matchAll(/HTTP\/1.1 (\d+)/g)].map((match) => match[1])).toEqual(['200', '404', '200'])
  })
})

describe('probes', () => {
  it('healthz, readyz, metrics and the front page answer without a token', async () => {
    let problems: string[] = []
    on = await startScripted({ readiness: async () => ({ ready: problems.length === 0, problems }) })
    expect((await send(on, 'GET', '/healthz')).json).toEqual({ status: 'ok' })
    expect((await send(on, 'GET', '/readyz')).status).toBe(200)
    problems = ['the store is away', 'the engine is away']
    const notReady = await send(on, 'GET', '/readyz')
    expect(notReady.status).toBe(503)
    expect(notReady.json).toEqual({ error: 'Not ready', details: 'the store is away; the engine is away' })
    expect(notReady.headers.get('retry-after')).toBe('1')
    const metrics = await fetch(`${on.url}/metrics`)
    expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(await metrics.text()).toBe('longshore_up 1\n')
    expect((await send(on, 'GET', '/')).json).toMatchObject({ name: 'Longshore', api: base })
    expect((await fetch(`${on.url}/healthz`, { method: 'HEAD' })).status).toBe(200)
    expect(on.logged()).not.toContain('"level":50')
  })

  it('metrics name the installation only for a caller with a good token', async () => {
    on = await startScripted({ metricsText: (known) => `known ${known}` })
    const read = async (authorization?: string) =>
      (await fetch(`${on.url}/metrics`, { headers: authorization ? { authorization } : {} })).text()
    expect(await read()).toBe('known false')
    expect(await read('lsu_wrong')).toBe('known false')
    expect(await read(goodToken)).toBe('known true')
  })

  it('a readiness check or a metric that throws is a logged 500 without its reason', async () => {
    const bang = () => {
      throw new Error('inner words')
    }
    on = await startScripted({ readiness: bang, metricsText: bang })
    for (const path of ['/readyz', '/metrics']) {
      const answer = await send(on, 'GET', path)
      expect(answer.status).toBe(500)
      expect(JSON.stringify(answer.json)).not.toContain('inner words')
    }
    expect(on.logged()).toContain('inner words')
  })
})

describe('the MCP endpoint', () => {
  it('gets every method with the body unread', async () => {
    const seen: string[] = []
    const mcp = async (request: IncomingMessage, response: ServerResponse) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      seen.push(`${request.method} ${Buffer.concat(chunks).length} ${request.headers['content-type']}`)
      response.writeHead(202, { 'content-type': 'text/event-stream' }).end('data: 1\n\n')
    }
    on = await startScripted({ mcp })
    for (const [method, body] of [
      ['POST', '{"a":'],
      ['POST', 'x'.repeat(2_000_000)],
      ['GET', null],
      ['DELETE', null],
      ['OPTIONS', null],
    ] as const) {
      const response = await fetch(`${on.url}/mcp?x=1`, { method, body, headers: { 'content-type': 'odd' } })
      expect(response.status).toBe(202)
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
      expect(await response.text()).toBe('data: 1\n\n')
    }
    expect(seen).toEqual(['POST 5 odd', 'POST 2000000 odd', 'GET 0 odd', 'DELETE 0 odd', 'OPTIONS 0 odd'])
    await until(() => on.logged().split('"route":"/mcp"').length === 6)
  })

  it('a handler that throws gets 500 with our error body and is logged', async () => {
    const mcp = async () => {
      throw new Error('inner words')
    }
    on = await startScripted({ mcp })
    const answer = await send(on, 'POST', '/mcp', {})
    expect(answer.status).toBe(500)
    expect(answer.json.error).toBe('Something went wrong on our side')
    await until(() => on.logged().includes('inner words'))
  })
})
