import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { expect, it } from 'vitest'
import type { RequestRecord } from '../../../src/gateway/control/request-record.ts'
import { bucketValueMs } from '../../../src/metrics/histogram.ts'
import {
  afterwards,
  appRoute,
  functionRoute,
  rawConnection,
  startGateway,
  upstream,
} from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

const a = 'a.app.localhost'

type Heard = Awaited<ReturnType<typeof startGateway>>['heard']

async function logged(heard: Heard, path: string): Promise<RequestRecord> {
  const find = () => heard.requests.flatMap(({ records }) => records).find((record) => record.path === path)
  await until(() => find() !== undefined, `a record of ${path}`)
  return find()!
}

function get(port: number, path: string, host = a) {
  const client = rawConnection(port)
  client.socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  return client
}

/** A container with an event stream, a chunked page and a download of a known length, none of which ends. */
async function endless() {
  const open = new Set<Socket>()
  const container = await upstream((request, response) => {
    open.add(request.socket)
    const type = request.url === '/events' ? 'text/event-stream' : 'text/plain'
    response.writeHead(200, {
      'content-type': type,
      ...(request.url === '/file' && { 'content-length': '1000' }),
    })
    response.write('data: 1\n\n')
  })
  return { container, breakOff: () => open.forEach((socket) => void socket.destroy()) }
}

it('an event stream that a drain ends is logged as drained, not as an error, and is no response time', async () => {
  const { container, breakOff } = await endless()
  const { port, heard, link } = await startGateway([appRoute([container.container('one')])], {
    requestLog: 'on',
  })
  const clients = ['/events', '/chunked', '/file'].map((path) => get(port, path))
  await until(() => clients.every(({ text }) => text.includes('data: 1')), 'the streams begin')
  await new Promise((resolve) => setTimeout(resolve, 300))
  link.setRoute(appRoute([container.container('one', true)]))
  await until(() => heard.traffic.length > 0, 'the route is known')
  breakOff()
  await until(() => clients.every(({ closed }) => closed), 'the streams end')

  const ofStream = { status: 200, refused: null, stream: true, cut: 'drain' }
  expect(await logged(heard, '/events')).toMatchObject(ofStream)
  expect(await logged(heard, '/chunked')).toMatchObject(ofStream)
  // A truncated file is a failure for its client.
  expect(await logged(heard, '/file')).toMatchObject({
    status: 502,
    refused: 'Ended by a drain',
    cut: 'drain',
  })
  expect((await logged(heard, '/events')).durationMs).toBeGreaterThan(290)
  const last = heard.traffic.at(-1)!
  expect(last).toMatchObject({ requests: 3, answered5xx: 1 })
  expect(heard.traffic.reduce((sum, { drained = 0 }) => sum + drained, 0)).toBe(2)
  const times = heard.traffic.flatMap(({ latency }) =>
    Object.entries(latency).flatMap(([bucket, count]) =>
      Array.from({ length: count }, () => bucketValueMs(Number(bucket))),
    ),
  )
  expect(times.filter((ms) => ms < 290)).toHaveLength(2)
})

it('a response that the container breaks off, and one cut at timeoutSeconds, are errors with their own cause', async () => {
  const { container, breakOff } = await endless()
  const route = functionRoute([container.container('one')], {
    timeoutSeconds: 1,
    responseStartTimeoutSeconds: 1,
  })
  const { port, heard } = await startGateway([appRoute([container.container('one')]), route], {
    requestLog: 'on',
  })
  const cut = get(port, '/cut', 'f.fn.localhost')
  await until(() => cut.closed, 'cut')
  const broken = get(port, '/broken')
  await until(() => broken.text.includes('data: 1'), 'the stream begins')
  breakOff()
  expect(await logged(heard, '/cut')).toMatchObject({
    status: 504,
    refused: 'Request timed out',
    cut: 'timeout',
  })
  expect(await logged(heard, '/broken')).toMatchObject({
    status: 502,
    refused: 'The container broke off its response',
    cut: 'container',
  })
})

/** A container that accepts WebSockets and sends `bytes`. */
async function accepting(bytes: Buffer) {
  const open: Duplex[] = []
  const container = await upstream()
  container.server.on('upgrade', (request, socket) => {
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    socket.write(bytes)
    socket.on('error', () => {})
    afterwards(() => socket.destroy())
    open.push(socket)
  })
  return { container, open }
}

async function webSocket(port: number) {
  const { WebSocket, Agent } = await import('undici')
  const dispatcher = new Agent({
    connect: { lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]) },
  })
  afterwards(() => dispatcher.destroy())
  const socket = new WebSocket(`ws://${a}:${port}/chat`, { dispatcher })
  const state = { messages: 0, code: 0 }
  socket.onmessage = () => state.messages++
  socket.onclose = ({ code }) => {
    state.code = code
  }
  return state
}

const hello = Buffer.from([0x81, 2, 0x68, 0x69])

it('a WebSocket that a drain ends gets the close frame 1012; one whose container crashes gets none', async () => {
  const { container, open } = await accepting(hello)
  const { port, heard, link } = await startGateway([appRoute([container.container('one')])], {
    requestLog: 'on',
  })
  const crashed = await webSocket(port)
  await until(() => crashed.messages === 1, 'the first is open')
  open[0]!.destroy()
  await until(() => crashed.code !== 0, 'the first is closed')
  expect(crashed.code).toBe(1006)
  const drained = await webSocket(port)
  await until(() => drained.messages === 1, 'the second is open')
  const before = heard.traffic.length
  link.setRoute(appRoute([container.container('one', true)]))
  await until(() => heard.traffic.length > before, 'the route is known')
  open[1]!.destroy()
  await until(() => drained.code !== 0, 'the second is closed')
  expect(drained.code).toBe(1012)
  await until(() => heard.requests.flatMap(({ records }) => records).length === 2, 'two records')
  const records = heard.requests.flatMap(({ records }) => records)
  expect(records.map(({ status, cut, stream }) => [status, cut, stream])).toEqual([
    [101, 'container', true],
    [101, 'drain', true],
  ])
  expect(heard.traffic.at(-1)!.answered5xx).toBe(0)
})

it('a gateway that exits sends 1012, but not into the middle of a frame', async () => {
  const long = Buffer.from([0x82, 126, 0x01, 0x00, ...Buffer.alloc(256)])
  const whole = await accepting(long)
  const partial = await accepting(long.subarray(0, 100))
  const { port, gateway } = await startGateway(
    [
      appRoute([whole.container.container('one')]),
      appRoute([partial.container.container('two')], { appEnvId: 'env_p', envName: 'p' }),
    ],
    { drainSeconds: 0.2 },
  )
  const state = await webSocket(port)
  const raw = rawConnection(port)
  raw.socket.write(
    'GET / HTTP/1.1\r\nHost: p.app.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n',
  )
  await until(
    () => state.messages === 1 && raw.text.includes('\r\n\r\n') && partial.open.length === 1,
    'open',
  )
  await until(() => raw.bytes > 100, 'the beginning of a frame')
  gateway.shutdown('test')
  await until(() => state.code !== 0 && raw.ended, 'closed')
  expect(state.code).toBe(1012)
  expect(raw.text).not.toContain('\x03\xf4')
})
