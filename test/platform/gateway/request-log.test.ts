import { expect, it } from 'vitest'
import type { RequestRecord } from '../../../src/gateway/control/request-record.ts'
import { RequestLog } from '../../../src/gateway/routing/request-log.ts'
import { ProxyServer } from '../../../src/gateway/workers/proxy-server.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import {
  appRoute,
  functionRoute,
  get,
  rawConnection,
  startGateway,
  upstream,
} from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const f = 'f.fn.localhost'

/** The logged requests by path, once each of these paths was reported. */
async function logged(heard: { requests: { records: RequestRecord[] }[] }, ...paths: string[]) {
  const all = () => heard.requests.flatMap(({ records }) => records)
  await until(() => paths.every((path) => all().some((record) => record.path === path)), paths.join(', '))
  return Object.fromEntries(all().map((record) => [record.path, record]))
}

it('reports each request with times, bytes, container and trace, and drops its query string', async () => {
  const seen: Record<string, unknown> = {}
  const one = await upstream((request, response) => {
    seen[request.url!] = request.headers.traceparent
    request.resume().on('end', () => {
      response.writeHead(request.url === '/fails' ? 500 : 200, { 'content-length': 6 })
      response.end('answer')
    })
  })
  const { port, heard } = await startGateway([functionRoute([one.container('one')])], { requestLog: 'on' })
  await get(port, f, { path: '/orders?key=geheim', headers: { traceparent }, method: 'POST', body: 'abcd' })
  await get(port, f, { path: '/cart;jsessionid=geheim/7%3Bsid=geheim' })
  await get(port, f, { path: '/page#geheim' })
  await get(port, f, { path: '/fails' })
  await get(port, f, { path: '/caf\u00c3\u00a9' })
  const {
    '/orders': order,
    '/fails': failed,
    ...others
  } = await logged(heard, '/orders', '/fails', '/café', '/cart/7', '/page')

  expect(order).toMatchObject({
    method: 'POST',
    status: 200,
    container: 'one',
    coldStart: false,
    bytesIn: 4,
    bytesOut: 6,
    refused: null,
    traceId: traceparent.slice(3, 35),
    oneIn: 1,
  })
  expect(order!.durationMs).toBeGreaterThanOrEqual(order!.firstByteMs!)
  expect(Math.abs(order!.endedMs - Date.now())).toBeLessThan(60_000)
  expect(failed).toMatchObject({ status: 500, refused: null })
  expect(Object.keys(others).sort()).toEqual(['/café', '/cart/7', '/page'])
  expect(JSON.stringify(heard.requests)).not.toContain('geheim')
  // The container gets the trace of the caller, or a new one.
  expect(seen['/orders?key=geheim']).toBe(traceparent)
  expect(seen['/fails']).toMatch(new RegExp(`^00-${failed!.traceId}-[0-9a-f]{16}-01$`))
})

it.each([
  ['malformed', 'nonsense'],
  ['of another form in version 00', `${traceparent}-more`],
  ['without a trace id', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
])('replaces a traceparent that is %s, with its tracestate', async (_what, sent) => {
  let headers: NodeJS.Dict<string | string[]> = {}
  const one = await upstream((request, response) => {
    headers = request.headers
    response.end()
  })
  const { port } = await startGateway([functionRoute([one.container('one')])])
  await get(port, f, { headers: { traceparent: sent, tracestate: 'vendor=1' } })
  expect(headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  expect(headers.tracestate).toBeUndefined()
  await get(port, f, { headers: { traceparent, tracestate: 'vendor=1' } })
  expect(headers).toMatchObject({ traceparent, tracestate: 'vendor=1' })
})

it('says why the gateway answered itself, and which requests waited for a cold start', async () => {
  const one = await upstream((request, response) => {
    if (request.url === '/hangs' || request.url === '/leaves') return
    response.end('ok')
  })
  const route = functionRoute([], { responseStartTimeoutSeconds: 1, minScale: 0 })
  const stopped = appRoute([], { state: 'stopped' })
  const { port, heard, link } = await startGateway([route, stopped], { requestLog: 'on' })
  const cold = get(port, f, { path: '/cold' })
  await until(() => heard.desired.some(([, count]) => count === 1), 'a container is needed')
  link.setRoute({ ...route, containers: [one.container('one')] })
  await cold
  await get(port, f, { path: '/hangs' })
  await get(port, 'a.app.localhost', { path: '/stopped' })
  const client = rawConnection(port)
  client.socket.write(`GET /leaves HTTP/1.1\r\nhost: ${f}\r\n\r\n`)
  await until(() => one.total === 3, 'the request arrives')
  client.socket.destroy()
  const records = await logged(heard, '/cold', '/hangs', '/stopped', '/leaves')
  expect(records['/cold']).toMatchObject({ status: 200, coldStart: true, container: 'one' })
  expect(records['/hangs']).toMatchObject({ status: 504, refused: 'Response start timed out' })
  expect(records['/stopped']).toMatchObject({ status: 503, refused: 'Stopped', container: null })
  expect(records['/leaves']).toMatchObject({ status: 0, refused: null, container: 'one' })
})

it('logs nothing when it is off, and query strings when that is set', async () => {
  const one = await upstream()
  const off = await startGateway([functionRoute([one.container('one')])], { requestLog: 'off' })
  await get(off.port, f, { path: '/a?b=c' })
  const on = await startGateway([functionRoute([one.container('one')])], { requestLog: 'with-query' })
  await get(on.port, f, { path: '/a?b=c' })
  await logged(on.heard, '/a?b=c')
  await until(() => off.heard.traffic.some(({ requests }) => requests === 1), 'the request is counted')
  expect(off.heard.requests).toEqual([])
})

const request = {
  method: 'GET',
  target: '/fine',
  traceId: null,
  spanId: null,
  parentSpanId: null,
  firstByteMs: 1,
  container: 'one',
  coldStart: false,
  bytesIn: 0,
  bytesOut: 0,
  stream: false,
  cut: null,
  clientAddress: '192.0.2.1',
}
const fine = { status: 200, durationMs: 2, refused: null }

it('keeps a bounded, representative sample under load, and failures before all others', () => {
  const log = new RequestLog('on', () => 0)
  for (let index = 0; index < 10_000; index++) log.add(fine, { ...request, target: `/${index}` })
  for (let index = 0; index < 5; index++) log.add({ ...fine, status: 500 }, { ...request, target: '/fails' })
  log.add({ ...fine, durationMs: 5_000 }, { ...request, target: '/slow' })
  log.add({ status: 503, durationMs: 0, refused: 'Stopped' }, { ...request, target: '/refused' })
  const records = log.take(1_000)
  const ordinary = records.filter(({ status, path }) => status === 200 && path !== '/slow')
  const notable = records.filter((record) => !ordinary.includes(record))
  expect(notable.map(({ path, oneIn }) => `${path} ${oneIn}`).sort()).toEqual([
    ...Array.from({ length: 5 }, () => '/fails 1'),
    '/refused 1',
    '/slow 1',
  ])
  expect(ordinary).toHaveLength(20)
  // What the lines stand for adds up to what happened.
  expect(ordinary.reduce((sum, { oneIn }) => sum + oneIn, 0)).toBeCloseTo(10_000)
  // Not just the first ones: the chance that none of 20 is from the later 9,980 is nil.
  expect(ordinary.some(({ path }) => Number(path.slice(1)) >= 20)).toBe(true)
  expect(log.take(1_000)).toEqual([])
})

it('bounds what strangers send: long paths and methods are cut', () => {
  const log = new RequestLog('with-query', () => 0)
  log.add(fine, { ...request, method: 'M'.repeat(5_000), target: `/${'x'.repeat(30_000)}` })
  const [record] = log.take(1_000)
  expect(record!.path).toHaveLength(513)
  expect(record!.path.endsWith('x…')).toBe(true)
  expect(record!.method).toHaveLength(16)
})

it('shares a limit between many environments', async () => {
  const clock = new TestClock()
  const reported: RequestRecord[][] = []
  const serving = new ProxyServer({
    clock,
    clockScale: 1,
    requestLog: 'on',
    linked: () => true,
    report: (message) => {
      if (message.type === 'requests') reported.push(message.batches.flatMap(({ records }) => records))
    },
  })
  const routes = Array.from({ length: 500 }, (_, index) =>
    appRoute([], { appEnvId: `env_${index}`, envName: `a${index}` }),
  )
  serving.take({ type: 'routes', routes })
  serving.startTimers()
  const load = () => {
    for (const { requests } of serving.table.all())
      for (let index = 0; index < 10; index++) requests!.add(fine, request)
  }
  for (let second = 0; second < 3; second++) {
    load()
    await clock.advance(1_000)
  }
  serving.stop()
  // Counting comes before sharing: the limit holds from the next second but one.
  expect(reported.map(({ length }) => length)).toEqual([5_000, 5_000, 1_000])
  expect(reported[2]!.reduce((sum, { oneIn }) => sum + oneIn, 0)).toBe(5_000)
})
