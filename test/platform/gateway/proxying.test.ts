import { createHash } from 'node:crypto'
import http from 'node:http'
import { describe, expect, it } from 'vitest'
import { bucketValueMs } from '../../../src/metrics/histogram.ts'
import {
  afterwards,
  appRoute,
  functionRoute,
  get,
  rawConnection,
  rawUpstream,
  startGateway,
  until,
  upstream,
} from '../../../testkit/gateway/harness.ts'

const F = 'f.fn.localhost'

describe('routing', () => {
  it('chooses by host name, and the kind must match', async () => {
    const one = await upstream((_q, r) => r.end('function'))
    const two = await upstream((_q, r) => r.end('app'))
    const { port } = await startGateway([
      functionRoute([one.container('one')]),
      appRoute([two.container('two')]),
      appRoute([], { appEnvId: 'env_s', envName: 's', state: 'stopped' }),
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
      'The first version of this environment could not be deployed (wrong-port). Its status says why.',
    ])
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
      'x-forwarded-for': '10.1.1.1, 127.0.0.1',
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
  await until(
    () => {
      same = value() === last ? same + 1 : 0
      last = value()
      return same > 100
    },
    'a standstill',
    60_000,
  )
}

describe('time limits', () => {
  it('answers 504 when no response begins within responseStartTimeoutSeconds, and frees the slot', async () => {
    const container = await upstream((request, response) => {
      if (request.url === '/ok') response.end('ok')
      else response.writeContinue()
    })
    const { port } = await startGateway([
      functionRoute([container.container('one')], {
        responseStartTimeoutSeconds: 1,
        containerConcurrency: 1,
        maxScale: 1,
      }),
    ])
    const answer = await get(port, F)
    expect([answer.status, JSON.parse(answer.body).error]).toEqual([504, 'Response start timed out'])
    expect(answer.ms).toBeGreaterThan(990)
    expect(answer.ms).toBeLessThan(15_000)
    expect((await get(port, F, { path: '/ok' })).status).toBe(200)
    expect(container.most).toBe(1)
  })

  it('ends a request that takes longer than timeoutSeconds: 504 before the answer began, else broken off', async () => {
    const container = await upstream((request, response) => {
      if (request.url === '/begin') response.write('part')
    })
    const { port, heard } = await startGateway([
      functionRoute([container.container('one')], { timeoutSeconds: 1, responseStartTimeoutSeconds: 1 }),
    ])
    const [silent, begun] = await Promise.all([
      get(port, F),
      get(port, F, { path: '/begin' }).then(
        () => 'complete',
        (error) => error.code,
      ),
    ])
    expect(silent.status).toBe(504)
    expect(begun).toBe('ECONNRESET')
    await until(() => container.now === 0, 'aborted at the container')
    // Both count as errors of the environment, with the second that they took.
    await until(() => heard.traffic.at(-1)?.answered5xx === 2, 'two answers of 5xx')
    const times = heard.traffic.flatMap(({ latency }) => Object.keys(latency))
    expect(Math.min(...times.map((bucket) => bucketValueMs(Number(bucket))))).toBeGreaterThan(900)
  })
})

describe('containers that fail', () => {
  it('breaks the answer off when the container dies in the middle of it', async () => {
    const container = await upstream((_request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('part', () => setImmediate(() => response.destroy()))
    })
    const { port, heard } = await startGateway([functionRoute([container.container('one')])])
    await expect(get(port, F)).rejects.toThrow(/aborted|ECONNRESET|hang up/)
    await until(() => heard.traffic.at(-1)?.answered5xx === 1, 'an answer of 5xx')
  })

  it('answers 502 in its own words when the container says nothing or nonsense', async () => {
    let words = ''
    const port = await rawUpstream((socket) => socket.once('data', () => socket.end(words)))
    const gateway = await startGateway([
      functionRoute([{ name: 'one', host: '127.0.0.1', port, draining: false }]),
    ])
    const nonsense = [
      '',
      'HELLO\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok',
      'HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n',
      'HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    ]
    for (words of nonsense) {
      const answer = await get(gateway.port, F)
      expect(answer.status, words).toBe(502)
      expect(Object.keys(JSON.parse(answer.body))).toEqual(['error', 'details'])
      expect(answer.body).not.toMatch(/127\.0\.0\.1|ECONN|one/)
    }
  })

  it('takes an answer that ends with its connection', async () => {
    const port = await rawUpstream((socket) =>
      socket.once('data', () => socket.end('HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nto the end')),
    )
    const gateway = await startGateway([
      functionRoute([{ name: 'one', host: '127.0.0.1', port, draining: false }]),
    ])
    expect((await get(gateway.port, F)).body).toBe('to the end')
  })

  it('goes to another container when one refuses the connection, and reports it', async () => {
    const good = await upstream()
    const { port, heard } = await startGateway([
      functionRoute([{ name: 'dead', host: '127.0.0.1', port: 1, draining: false }, good.container('good')]),
    ])
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => get(port, F, { method: 'POST', body: 'x' })),
    )
    expect(answers.map((answer) => answer.status)).toEqual(Array(8).fill(200))
    await until(() => heard.unreachable.includes('dead'), 'report')
  })

  it('tries once more when a kept connection was closed before the answer, but sends no body twice', async () => {
    let seen = 0
    let connections = 0
    const port = await rawUpstream((socket) => {
      connections++
      let served = 0
      socket.on('data', () => {
        seen++
        // The second request on a connection finds it closed.
        if (served++ > 0) socket.resetAndDestroy()
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    })
    const gateway = await startGateway([
      functionRoute([{ name: 'one', host: '127.0.0.1', port, draining: false }]),
    ])
    expect((await get(gateway.port, F)).status).toBe(200)
    expect((await get(gateway.port, F)).status).toBe(200)
    expect([seen, connections]).toEqual([3, 2])
    expect((await get(gateway.port, F, { method: 'POST', body: 'x' })).status).toBe(502)
    expect([seen, connections]).toEqual([4, 2])
  })

  it('keeps the connection when a container answers before the body is there, or says that it closes', async () => {
    const container = await upstream((request, response) => {
      if (request.method === 'POST') response.end('early')
      else setTimeout(() => response.end('ok'), 1)
    })
    const { port } = await startGateway([functionRoute([container.container('one')])])
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    afterwards(() => agent.destroy())
    const sizes = [300_000, 1_000_000, 3_000_000]
    for (let turn = 0; turn < 30; turn++) {
      const body = 'x'.repeat(sizes[turn % 3]!)
      const headers = turn % 2 ? { 'content-length': String(body.length) } : {}
      expect((await get(port, F, { agent, method: 'POST', body, headers })).body).toBe('early')
      expect((await get(port, F, { agent })).body).toBe('ok')
    }
    const raw = rawConnection(port)
    raw.socket.write(`POST / HTTP/1.1\r\nHost: ${F}\r\nContent-Length: 9\r\n\r\nabc`)
    await until(() => raw.text.includes('early'), 'early answer')
    raw.socket.write(`456789GET / HTTP/1.1\r\nHost: ${F}\r\n\r\n`)
    await until(() => raw.text.endsWith('ok'), 'the next answer')
  })

  it('never gives an answer to the wrong request when a container sends too much', async () => {
    const port = await rawUpstream((socket) => {
      let count = 0
      socket.on('data', () => {
        const extra = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong'
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright${count++ === 0 ? extra : ''}`)
      })
    })
    const gateway = await startGateway([
      functionRoute([{ name: 'one', host: '127.0.0.1', port, draining: false }]),
    ])
    for (let index = 0; index < 4; index++) expect((await get(gateway.port, F)).body).toBe('right')
  })
})

describe('WebSockets', () => {
  /** A container that accepts WebSockets and echoes text frames, by hand. */
  async function echo() {
    const container = await upstream()
    const state = { open: 0 }
    container.server.on('upgrade', (request, socket) => {
      state.open++
      socket.on('close', () => state.open--)
      socket.on('error', () => {})
      socket.on('end', () => socket.end())
      const key = createHash('sha1')
        .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest('base64')
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`,
      )
      socket.on('data', (frame: Buffer) => {
        if ((frame[0]! & 15) === 8) return void socket.end(Buffer.from([0x88, 0]))
        const length = frame[1]! & 127
        const mask = frame.subarray(2, 6)
        const text = frame.subarray(6, 6 + length).map((byte, index) => byte ^ mask[index % 4]!)
        socket.write(Buffer.concat([Buffer.from([0x81, length]), text]))
      })
      afterwards(() => socket.destroy())
    })
    return { container, state }
  }

  it('carries a WebSocket, which holds its slot until it is closed', async () => {
    const { container, state } = await echo()
    const { port } = await startGateway([
      functionRoute([container.container('one')], {
        containerConcurrency: 1,
        maxScale: 1,
        timeoutSeconds: 1,
      }),
    ])
    const { WebSocket, Agent } = await import('undici')
    const dispatcher = new Agent({
      connect: { lookup: (_h, _o, done) => done(null, [{ address: '127.0.0.1', family: 4 }]) },
    })
    afterwards(() => dispatcher.destroy())
    const socket = new WebSocket(`ws://${F}:${port}/chat`, { dispatcher })
    const heard: string[] = []
    socket.onmessage = (event) => heard.push(String(event.data))
    await new Promise((resolve, reject) => {
      socket.onopen = resolve
      socket.onerror = reject
    })
    socket.send('one')
    await until(() => heard.length === 1)
    const waiting = get(port, F)
    socket.send('two')
    await until(() => heard.length === 2)
    expect(heard).toEqual(['one', 'two'])
    // The only slot is taken, longer than timeoutSeconds too: the other request times out in the queue.
    expect((await waiting).status).toBe(504)
    expect(state.open).toBe(1)
    socket.close()
    await until(() => state.open === 0, 'closed at the container')
    expect((await get(port, F)).status).toBe(200)
  })

  it('closes the container side when the client vanishes', async () => {
    const { container, state } = await echo()
    const { port } = await startGateway([functionRoute([container.container('one')])])
    const client = rawConnection(port)
    client.socket.write(
      `GET / HTTP/1.1\r\nHost: ${F}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n`,
    )
    await until(() => client.text.includes('101') && state.open === 1)
    client.socket.destroy()
    await until(() => state.open === 0)
  })

  it('upgrades to nothing else', async () => {
    let seen: http.IncomingHttpHeaders = {}
    const container = await upstream((request, response) => {
      seen = request.headers
      response.end('plain')
    })
    const { port } = await startGateway([functionRoute([container.container('one')])])
    const client = rawConnection(port)
    client.socket.write(
      `GET / HTTP/1.1\r\nHost: ${F}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n`,
    )
    await until(() => client.text.includes('plain'))
    expect(seen.upgrade).toBeUndefined()
    expect(seen['http2-settings']).toBeUndefined()
  })
})
