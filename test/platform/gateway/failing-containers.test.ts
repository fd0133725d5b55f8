import http from 'node:http'
import { describe, expect, it } from 'vitest'
import { bucketValueMs } from '../../../src/metrics/histogram.ts'
import {
  afterwards,
  functionRoute,
  get,
  rawConnection,
  rawUpstream,
  startGateway,
  upstream,
} from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

const F = 'f.fn.localhost'

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
