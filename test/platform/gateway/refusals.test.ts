import net from 'node:net'
import { expect, it } from 'vitest'
import type { RequestRecord } from '../../../src/gateway/control/request-record.ts'
import {
  afterwards,
  appRoute,
  get,
  rawConnection,
  rawUpstream,
  startGateway,
} from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

const a = 'a.app.localhost'

function records(heard: { requests: { records: RequestRecord[] }[] }): RequestRecord[] {
  return heard.requests.flatMap((batch) => batch.records)
}

/** A gateway in front of a container whose bytes the test chooses. */
async function before(words: () => string, close = true) {
  const port = await rawUpstream((socket) =>
    socket.once('data', () => (close ? socket.end(words(), 'latin1') : socket.write(words(), 'latin1'))),
  )
  const route = appRoute([{ name: 'one', host: '127.0.0.1', port, draining: false }])
  return startGateway([route], { requestLog: 'on' })
}

it('each malformed response has its cause, for the program and in the request log', async () => {
  let words = ''
  const { port, heard } = await before(() => words)
  const ok = 'HTTP/1.1 200 OK\r\n'
  const causes: Record<string, string> = {
    'HELLO\r\n\r\n': 'does not begin with a status line of HTTP/1.1',
    [`${ok}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok`]:
      'has both Content-Length and Transfer-Encoding',
    [`${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`]:
      'has several Transfer-Encoding headers',
    [`${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nok`]: 'has several Content-Length headers',
    [`${ok}Content-Length: -1\r\n\r\n`]: 'has a Content-Length that is not a number',
    [`${ok}Transfer-Encoding: gzip\r\n\r\n`]: 'has a Transfer-Encoding other than chunked',
    [`${ok}X-Name: a\rb\r\n\r\n`]: 'has a control character or a bare line break in its header X-Name',
    [`${ok}X-One: 1\r\nno colon\r\n\r\n`]: 'has a header line without a colon, after X-One',
    [`${ok}bad name: 1\r\n\r\n`]: 'has a header name with a character that is not allowed',
    [`${ok}X-Long: ${'x'.repeat(40_000)}`]: 'has a head of more than 32 KiB',
    'HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n':
      'switches to a protocol that the request does not ask for (101)',
    ['HTTP/1.1 100 Continue\r\n\r\n'.repeat(30)]: 'follows more than 20 interim responses (1xx)',
    'HTTP/1.1 200 OK\nContent-Length: 2\n\nok': 'ends before its head does (CRLF CRLF)',
    [`${ok}Content-Le`]: 'ends before its head does (CRLF CRLF)',
  }
  for (const [bytes, cause] of Object.entries(causes)) {
    words = bytes
    const answer = await get(port, a)
    expect([answer.status, JSON.parse(answer.body).details]).toEqual([
      502,
      `The response of the container ${cause}.`,
    ])
  }
  await until(() => records(heard).length === Object.keys(causes).length, 'the log')
  expect(records(heard).map(({ refused }) => refused)).toEqual(
    Object.values(causes).map((cause) => `Bad answer from the container: it ${cause}`),
  )
})

it('a malformed chunk after the beginning is logged with its cause, and the client sees a broken response', async () => {
  const { port, heard } = await before(() => 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n')
  await expect(get(port, a)).rejects.toThrow()
  await until(() => records(heard).length === 1, 'the log')
  expect(records(heard)[0]).toMatchObject({
    status: 502,
    cut: 'container',
    refused: 'Bad answer from the container: it has a malformed chunked body (no chunk size)',
  })
})

it('an early 413 reaches the client although the container stops reading and the client sends on', async () => {
  const body = '{"error":"too large"}'
  const port = await rawUpstream((socket) =>
    socket.once('data', () => {
      socket.pause()
      const head = `HTTP/1.1 413 Payload Too Large\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`
      // With unread data the close is a reset.
      socket.write(head + body, () => socket.destroy())
    }),
  )
  const gateway = await startGateway([appRoute([{ name: 'one', host: '127.0.0.1', port, draining: false }])])
  for (let turn = 0; turn < 10; turn++) {
    const size = 20_000_000
    const answer = await get(gateway.port, a, {
      ...{ method: 'POST', body: 'x'.repeat(size), headers: { 'content-length': String(size) } },
    })
    expect([answer.status, answer.body]).toEqual([413, body])
  }
})

it('a refused client that sends slowly is not reset before it can read why', async () => {
  const { port } = await startGateway([appRoute([], { state: 'stopped' })])
  const client = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  afterwards(() => client.destroy())
  let failed = false
  client.on('error', () => {
    failed = true
  })
  client.write(`POST / HTTP/1.1\r\nHost: ${a}\r\nContent-Length: 100000000\r\n\r\n`)
  const sending = setInterval(() => client.write('x'.repeat(1000)), 100)
  afterwards(() => clearInterval(sending))
  // Longer than a client that is silent has.
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  expect(failed).toBe(false)
  expect(String(client.read())).toContain('503')
})

it('a head that the gateway refuses stands in the request log of the environment that it names', async () => {
  const { port, heard } = await before(() => '')
  const refused = async (text: string) => {
    const raw = rawConnection(port)
    raw.socket.write(text)
    await until(() => raw.ended, 'refused')
  }
  await refused(`GET /large HTTP/1.1\r\nHost: ${a}\r\nX-Long: ${'x'.repeat(40_000)}\r\n\r\n`)
  await refused(`GET /twice HTTP/1.1\r\nHost: ${a}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n`)
  await refused(`GET /hosts HTTP/1.1\r\nHost: ${a}\r\nHost: b\r\n\r\n`)
  await refused(`TRACE /trace HTTP/1.1\r\nHost: ${a}\r\n\r\n`)
  await until(() => records(heard).length === 3, 'the log')
  expect(records(heard).map(({ method, path, status, refused }) => [method, path, status, refused])).toEqual([
    ['GET', '/large', 431, 'Request head too large'],
    ['GET', '/twice', 400, 'Bad request'],
    ['TRACE', '/trace', 405, 'Method not allowed'],
  ])
  await until(() => heard.traffic.at(-1)?.answered4xx === 3, 'counted')
})

it('a visitor gets a page without internals, with an id that the request log has', async () => {
  const { port, heard } = await before(() => '')
  const page = await get(port, a, { headers: { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' } })
  expect(page.status).toBe(502)
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(page.body).not.toMatch(/container|get-|logs|timeoutSeconds|\bone\b|127\.0/i)
  const [, id] = /Request ([0-9a-f]{32})/.exec(page.body)!
  await until(() => records(heard).length === 1, 'the log')
  expect(records(heard)[0]!.traceId).toBe(id)
  const nowhere = await get(port, 'nobody.app.localhost', { headers: { accept: 'text/html' } })
  expect([nowhere.status, nowhere.body]).toEqual([404, expect.stringContaining('There is no site')])
  const program = await get(port, a, { headers: { accept: 'application/json' } })
  expect(JSON.parse(program.body).error).toBe('No answer from the container')
})

it('a cookie for the domain that environments share stays with its host; an own domain sets what it likes', async () => {
  const cookies = [
    's=1; Path=/; Domain=app.localhost; HttpOnly',
    't=2;domain=.localhost',
    'u=3; DOMAIN = "app.localhost" ; Secure',
    'v=4; Domain=a.app.localhost; Path=/',
    'domain=x; Path=/',
    'w=5; Domain',
  ]
  const head = cookies.map((cookie) => `Set-Cookie: ${cookie}\r\n`).join('')
  const port = await rawUpstream((socket) =>
    socket.on('data', () => socket.write(`HTTP/1.1 204 No Content\r\n${head}\r\n`)),
  )
  const container = { name: 'one', host: '127.0.0.1', port, draining: false }
  const gateway = await startGateway([appRoute([container], { domains: ['shop.example.com'] })])
  expect((await get(gateway.port, `${a}:80`)).headers['set-cookie']).toEqual([
    's=1; Path=/; HttpOnly',
    't=2',
    'u=3; Secure',
    'v=4; Domain=a.app.localhost; Path=/',
    'domain=x; Path=/',
    'w=5',
  ])
  expect((await get(gateway.port, 'shop.example.com')).headers['set-cookie']).toEqual(
    cookies.map((cookie) => cookie.trim()),
  )
})
