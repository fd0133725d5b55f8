import { createHash } from 'node:crypto'
import http from 'node:http'
import { describe, expect, it } from 'vitest'
import {
  appRoute,
  functionRoute,
  get,
  rawConnection,
  rawUpstream,
  startGateway,
  upstream,
} from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

const F = 'f.fn.localhost'

describe('routing', () => {
  it('chooses by host name, and the kind must match', async () => {
    const one = await upstream((_q, r) => r.end('function'))
    const two = await upstream((_q, r) => r.end('app'))
    const { port } = await startGateway([
      functionRoute([one.container('one')]),
      appRoute([two.container('two')]),
      appRoute([], { appEnvId: 'env_s', envName: 's', state: 'stopped' }),
      appRoute([], { appEnvId: 'env_d', envName: 'd', state: 'stopped', deploying: true }),
      appRoute([], { appEnvId: 'env_e', envName: 'e' }),
      appRoute([], { appEnvId: 'env_n', envName: 'n', state: 'stopped', failure: 'wrong-port' }),
    ])
    expect((await get(port, F)).body).toBe('function')
    expect((await get(port, `${F}:${port}`)).body).toBe('function')
    expect((await get(port, 'F.FN.localhost')).body).toBe('function')
    expect((await get(port, 'a.app.localhost')).body).toBe('app')
    for (const unknown of ['f.app.localhost', 'a.fn.localhost', 'x.fn.localhost', 'localhost', '127.0.0.1']) {
      const answer = await get(port, unknown)
      expect(answer.status).toBe(404)
      expect(JSON.parse(answer.body)).toEqual({
        error: 'No such app or function',
        details: expect.any(String),
      })
    }
    const stopped = await get(port, 's.app.localhost')
    expect([stopped.status, JSON.parse(stopped.body).error]).toEqual([503, 'Stopped'])
    const failed = await get(port, 'n.app.localhost')
    expect([failed.status, JSON.parse(failed.body).details]).toEqual([
      503,
      'The first version of this environment could not be deployed (wrong-port). get-app-env-status shows the reason.',
    ])
    const deploying = await get(port, 'd.app.localhost')
    expect(deploying.body).toMatch(/^\{"error":"Deploying",.*is being deployed, and none serves yet/)
    const empty = await get(port, 'e.app.localhost')
    expect([empty.status, Number(empty.headers['retry-after']) > 0]).toEqual([503, true])
  })

  it('spreads an app over its containers and leaves out draining ones', async () => {
    const containers = await Promise.all([upstream(), upstream(), upstream()])
    const { port } = await startGateway([
      appRoute(containers.map((container, index) => container.container(`c${index}`, index === 2))),
    ])
    for (let index = 0; index < 20; index++) expect((await get(port, 'a.app.localhost')).status).toBe(200)
    expect(containers.map((container) => container.total)).toEqual([10, 10, 0])
  })
})

describe('headers', () => {
  it('strips hop-by-hop headers both ways, listed ones too, and says who forwarded', async () => {
    let seen: http.IncomingHttpHeaders = {}
    const port = await rawUpstream((socket) => {
      let text = ''
      socket.on('data', (piece) => {
        text += piece
        if (!text.includes('\r\n\r\n')) return
        const lines = text.split('\r\n').slice(1, -2)
        seen = Object.fromEntries(
          lines.map((line) => [line.split(':')[0]!.toLowerCase(), line.split(': ')[1]]),
        )
        socket.write(
          'HTTP/1.1 200 Fine\r\nConnection: X-Private, keep-alive\r\nX-Private: 1\r\nKeep-Alive: timeout=9\r\n' +
            'Trailer: x\r\nX-Public: 2\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\nok',
        )
      })
    })
    const gateway = await startGateway([
      functionRoute([{ name: 'one', host: '127.0.0.1', port, draining: false }]),
    ])
    const answer = await get(gateway.port, F, {
      headers: {
        connection: 'close, X-Secret, X-Forwarded-For',
        'x-secret': '1',
        'x-kept': 'yes',
        te: 'trailers',
        'proxy-authorization': 'x',
        'keep-alive': 'timeout=5',
        'x-forwarded-for': '10.1.1.1',
        'x-forwarded-proto': 'https',
        'x-forwarded-host': 'evil.example',
      },
    })
    expect(seen).toEqual({
      host: F,
      'x-kept': 'yes',
      traceparent: expect.any(String),
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': F,
      'x-forwarded-proto': 'http',
    })
    expect(answer.headers).toEqual({
      'x-public': '2',
      'set-cookie': ['a=1', 'b=2'],
      'content-length': '2',
      connection: 'close',
    })
  })

  it('serves HEAD, 204, 304 and HTTP/1.0 with the right end of the answer', async () => {
    const container = await upstream((request, response) => {
      if (request.url === '/204') response.writeHead(204).end()
      else if (request.url === '/304') response.writeHead(304, { etag: '"x"' }).end()
      else {
        response.write('chun')
        setImmediate(() => response.end('ked'))
      }
    })
    const { port } = await startGateway([functionRoute([container.container('one')])])
    const kept = rawConnection(port)
    const say = (line: string) => kept.socket.write(`${line} HTTP/1.1\r\nHost: ${F}\r\n\r\n`)
    say('HEAD /')
    say('GET /204')
    say('GET /304')
    say('GET /')
    await until(() => kept.text.endsWith('0\r\n\r\n'), 'four answers on one connection')
    expect(kept.text.match(/HTTP\/1\.1 \d+/g)).toEqual([
      'HTTP/1.1 200',
      'HTTP/1.1 204',
      'HTTP/1.1 304',
      'HTTP/1.1 200',
    ])
    expect(kept.text.match(/\r\nchun\r\n/g)).toHaveLength(1)
    const old = rawConnection(port)
    old.socket.write(`GET / HTTP/1.0\r\nHost: ${F}\r\n\r\n`)
    await until(() => old.ended)
    expect(old.text).toMatch(/\r\n\r\nchunked$/)
    expect(old.text.toLowerCase()).not.toContain('transfer-encoding')
  })

  it('passes 100-continue and early hints on, and lets the body follow', async () => {
    const container = await upstream((request, response) => {
      response.writeEarlyHints({ link: '</a.css>; rel=preload' })
      let body = ''
      request.on('data', (piece) => {
        body += piece
      })
      request.on('end', () => response.end(`got ${body}`))
    })
    const { port } = await startGateway([functionRoute([container.container('one')])])
    const client = rawConnection(port)
    client.socket.write(`POST / HTTP/1.1\r\nHost: ${F}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`)
    await until(() => client.text.includes('HTTP/1.1 100'), 'permission to send')
    await until(() => client.text.includes('HTTP/1.1 103'), 'early hints')
    client.socket.write('hello')
    await until(() => client.text.includes('got hello'), 'answer')
  })
})

describe('streaming', () => {
  it('passes server-sent events on as they come', async () => {
    let next: () => void = () => {}
    const container = await upstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      let count = 0
      next = () => response.write(`data: ${++count}\n\n`)
    })
    const { port } = await startGateway([functionRoute([container.container('one')])])
    const client = rawConnection(port)
    client.socket.write(`GET / HTTP/1.1\r\nHost: ${F}\r\n\r\n`)
    await until(() => client.text.includes('text/event-stream'), 'the head before any event')
    for (let count = 1; count <= 3; count++) {
      next()
      await until(() => client.text.includes(`data: ${count}`), `event ${count}`)
      expect(client.text).not.toContain(`data: ${count + 1}`)
    }
    client.socket.destroy()
    await until(() => container.now === 0, 'the container hears that the client left')
  })

  it.each(['length', 'chunked'])('streams a slow upload as it comes (%s)', async (coding) => {
    let got = ''
    const container = await upstream((request, response) => {
      request.on('data', (piece) => {
        got += piece
      })
      request.on('end', () => response.end(`${got.length}`))
    })
    const { port } = await startGateway([functionRoute([container.container('one')])])
    const length = coding === 'length' ? { 'content-length': '6' } : {}
    const done = new Promise<string>((resolve, reject) => {
      const request = http.request({ port, method: 'POST', headers: { host: F, ...length } }, (response) => {
        response.on('data', (piece) => resolve(String(piece)))
      })
      request.on('error', reject)
      const send = async () => {
        for (const part of ['ab', 'cd', 'ef']) {
          request.write(part)
          await until(() => got.endsWith(part), `part ${part} at the container`)
        }
        request.end()
      }
      send().catch(reject)
    })
    expect(await done).toBe('6')
  })

  it('holds a fast container back for a slow client, and a fast client for a slow container', async () => {
    let written = 0
    const total = 200 * 1024 * 1024
    let release: () => void = () => {}
    const container = await upstream((request, response) => {
      if (request.method === 'POST') {
        release = () => request.on('data', () => {}).on('end', () => response.end('done'))
        return
      }
      response.writeHead(200, { 'content-length': String(total) })
      const piece = Buffer.alloc(256 * 1024)
      const more = () => {
        while (written < total) {
          written += piece.length
          if (!response.write(piece)) return void response.once('drain', more)
        }
        response.end()
      }
      more()
    })
    const { port } = await startGateway([functionRoute([container.container('one')])])
    const slow = rawConnection(port)
    slow.socket.write(`GET / HTTP/1.1\r\nHost: ${F}\r\n\r\n`)
    await until(() => slow.bytes > 0)
    slow.socket.pause()
    await settled(() => written)
    // What is on its way fits into the buffers of a few sockets.
    expect(written).toBeLessThan(40 * 1024 * 1024)
    slow.socket.resume()
    await until(() => slow.bytes > total, 'the whole answer')

    const fast = rawConnection(port)
    fast.socket.write(`POST / HTTP/1.1\r\nHost: ${F}\r\nContent-Length: ${total}\r\n\r\n`)
    let sent = 0
    const block = Buffer.alloc(1024 * 1024)
    const pour = () => {
      while (sent < total) {
        sent += block.length
        if (!fast.socket.write(block)) return void fast.socket.once('drain', pour)
      }
    }
    pour()
    await settled(() => sent)
    expect(sent).toBeLessThan(40 * 1024 * 1024)
    release()
    await until(() => fast.text.includes('done'), 'the whole upload')
  })

  it('carries large bodies unharmed both ways at once', async () => {
    const container = await upstream((request, response) => request.pipe(response))
    const { port } = await startGateway([functionRoute([container.container('one')])])
    const sent = createHash('sha256')
    const got = createHash('sha256')
    await new Promise<void>((resolve, reject) => {
      const request = http.request({ port, method: 'POST', headers: { host: F } }, (response) => {
        response.on('data', (piece) => got.update(piece))
        response.on('end', resolve)
        response.on('error', reject)
      })
      request.on('error', reject)
      let left = 300
      const more = () => {
        while (left-- > 0) {
          const piece = Buffer.alloc(100_000 + left, left)
          sent.update(piece)
          if (!request.write(piece)) return void request.once('drain', more)
        }
        request.end()
      }
      more()
    })
    expect(got.digest('hex')).toBe(sent.digest('hex'))
  })
})

/** Waits until a number has stopped growing. */
async function settled(value: () => number): Promise<void> {
  let last = -1
  let same = 0
  const isSettled = () => {
    same = value() === last ? same + 1 : 0
    last = value()
    return same > 100
  }
  await until(isSettled, 'a standstill')
}
