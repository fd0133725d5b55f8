import http2 from 'node:http2'
import { expect, it } from 'vitest'
import type { Route } from '../../../src/gateway/control/protocol.ts'
import { makeCertificate } from '../../../testkit/gateway/certificates.ts'
import {
  afterwards,
  appRoute,
  startGateway,
  type Upstream,
  upstream,
} from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

const certificate = makeCertificate('shop.example.com')

async function start(container: Upstream, route: Partial<Route> = {}) {
  const domains = ['shop.example.com']
  const setup = await startGateway([appRoute([container.container('one')], { domains, ...route })], {
    tlsPort: 0,
  })
  setup.link.setCertificates([certificate])
  await until(() => setup.gateway.tlsPort !== null, 'the TLS port')
  return setup
}

function connect(port: number) {
  const options = { rejectUnauthorized: false, servername: 'shop.example.com' }
  const session = http2.connect(`https://127.0.0.1:${port}`, options)
  session.on('error', () => {})
  afterwards(() => session.destroy())
  return session
}

interface Answer {
  headers: http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader
  body: string
  code: number | undefined
}

function send(
  session: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
  body?: Buffer | Buffer[],
) {
  return new Promise<Answer>((resolve) => {
    const named = { ':authority': 'shop.example.com', ...headers }
    const stream = session.request(named, { endStream: body === undefined })
    let answer: Answer['headers'] = {}
    const pieces: Buffer[] = []
    stream.on('response', (given) => {
      answer = given
    })
    stream.on('data', (piece) => pieces.push(piece))
    stream.on('error', () => {})
    stream.on('close', () =>
      resolve({ headers: answer, body: Buffer.concat(pieces).toString(), code: stream.rstCode }),
    )
    for (const piece of [body ?? []].flat()) stream.write(piece)
    if (body !== undefined) stream.end()
  })
}

const echo = () =>
  upstream(async (request, response) => {
    let size = 0
    for await (const piece of request) size += piece.length
    response.setHeader('set-cookie', ['a=1', 'b=2'])
    const { method, url, headers } = request
    response.end(JSON.stringify({ method, url, size, headers }))
  })

it('http2 requests with and without bodies reach the container in HTTP/1.1, many at once', async () => {
  const { gateway } = await start(await echo())
  const session = connect(gateway.tlsPort!)
  const plain = await send(session, { ':path': '/a?b=c', cookie: 'x=1', 'x-forwarded-proto': 'http' })
  expect(plain.headers).toMatchObject({ ':status': 200, 'set-cookie': ['a=1', 'b=2'] })
  expect(plain.headers.connection).toBeUndefined()
  expect(JSON.parse(plain.body)).toMatchObject({
    ...{ method: 'GET', url: '/a?b=c', size: 0 },
    headers: {
      host: 'shop.example.com',
      cookie: 'x=1',
      'x-forwarded-proto': 'https',
      'x-forwarded-for': '127.0.0.1',
    },
  })
  const large = Buffer.alloc(700_000, 'x')
  const known = await send(session, { ':method': 'POST', 'content-length': large.length }, large)
  expect(JSON.parse(known.body)).toMatchObject({ size: 700_000, headers: { 'content-length': '700000' } })
  const chunked = await send(session, { ':method': 'POST' }, [large, large])
  expect(JSON.parse(chunked.body)).toMatchObject({
    size: 1_400_000,
    headers: { 'transfer-encoding': 'chunked' },
  })
  const all = await Promise.all(
    Array.from({ length: 100 }, (_, index) => send(session, { ':path': `/${index}` })),
  )
  expect(all.map(({ body }) => JSON.parse(body).url)).toEqual(all.map((_, index) => `/${index}`))
  const head = await send(session, { ':method': 'HEAD' })
  expect([head.headers[':status'], head.body]).toEqual([200, ''])
  expect((await send(session, { ':authority': 'other.example.com' })).headers[':status']).toBe(404)
})

it('http2 bodies of any framing arrive whole, and a broken one is a reset', async () => {
  const text = 'x'.repeat(3_000_000)
  const container = await upstream((request, response) => {
    if (request.url === '/chunked') {
      response.write(text)
      response.end(text)
    } else if (request.url === '/length') response.end(text)
    else if (request.url === '/empty') response.writeHead(204).end()
    else if (request.url === '/close') {
      response.useChunkedEncodingByDefault = false
      response.write(text)
      response.end()
    } else {
      response.writeHead(200, { 'content-length': '100' }).write('short')
      setTimeout(() => response.destroy(), 50)
    }
  })
  const { gateway } = await start(container)
  const session = connect(gateway.tlsPort!)
  expect((await send(session, { ':path': '/chunked' })).body.length).toBe(6_000_000)
  expect((await send(session, { ':path': '/length' })).body.length).toBe(3_000_000)
  expect((await send(session, { ':path': '/close' })).body.length).toBe(3_000_000)
  expect((await send(session, { ':path': '/empty' })).headers[':status']).toBe(204)
  const broken = await send(session, { ':path': '/broken' })
  expect(broken.code).not.toBe(0)
})

it('http2 a canceled request frees its container', async () => {
  let open = 0
  const container = await upstream((_request, response) => {
    open += 1
    response.on('close', () => {
      open -= 1
    })
  })
  const { gateway } = await start(container)
  const session = connect(gateway.tlsPort!)
  const stream = session.request({ ':authority': 'shop.example.com' })
  stream.on('error', () => {})
  await until(() => open === 1, 'the request')
  stream.close(http2.constants.NGHTTP2_CANCEL)
  await until(() => open === 0, 'the end of the request')
})

const resetCodes = ['NGHTTP2_CANCEL', 'NGHTTP2_NO_ERROR', 'NGHTTP2_INTERNAL_ERROR'] as const
it.each(resetCodes)('http2 a client that only resets streams loses its connection: %s', async (code) => {
  const container = await upstream(() => {})
  const { gateway } = await start(container)
  const session = connect(gateway.tlsPort!)
  for (let turn = 0; turn < 20 && !session.destroyed; turn++) {
    const batch = Array.from({ length: 50 }, () => session.request({ ':authority': 'shop.example.com' }))
    for (const one of batch) one.on('error', () => {})
    // The client sends no headers of a request that is canceled before they are on their way.
    await until(() => container.total >= 50 * (turn + 1) || session.destroyed, 'the requests')
    for (const one of batch) one.close(http2.constants[code])
  }
  await until(() => session.destroyed, 'the end of the connection')
})

it('http2 a gateway that exits lets open streams end', async () => {
  const container = await upstream((_request, response) => void setTimeout(() => response.end('slow'), 400))
  const { gateway } = await start(container)
  const session = connect(gateway.tlsPort!)
  const answer = send(session, {})
  await until(() => container.now === 1, 'the request')
  gateway.shutdown('test')
  expect((await answer).body).toBe('slow')
  await gateway.closed
})

it('http2 malformed requests are refused', async () => {
  const { gateway } = await start(await echo())
  const session = connect(gateway.tlsPort!)
  for (const headers of [{ host: 'other.example.com' }, { ':path': '/a b' }, { ':method': 'GE T' }]) {
    const answer = await send(session, headers)
    expect([headers, answer.headers[':status'] ?? answer.code]).toEqual([headers, expect.any(Number)])
    expect(answer.headers[':status']).not.toBe(200)
  }
  expect((await send(session, { 'x-large': 'x'.repeat(40_000) })).headers[':status']).not.toBe(200)
  expect((await send(connect(gateway.tlsPort!), {})).headers[':status']).toBe(200)
})
