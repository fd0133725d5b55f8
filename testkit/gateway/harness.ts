import { mkdtemp } from 'node:fs/promises'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { connectGateway, type GatewayLink } from '../../src/gateway/control/client.ts'
import type { FunctionScaling, Route, RouteContainer } from '../../src/gateway/control/protocol.ts'
import type { RequestBatch, RequestLogMode } from '../../src/gateway/control/request-record.ts'
import { type Gateway, runGateway } from '../../src/gateway/gateway.ts'
import { createLog } from '../../src/log.ts'
import type { TrafficSample } from '../../src/metrics/traffic-sample.ts'
import type { TestClock } from '../fakes/clock.ts'
import { removeFolder } from '../remove-folder.ts'
import { until } from '../until.ts'

export const silent = createLog('test', 'silent')

/** Runs after the test, last one first. */
export const afterwards = (cleanup: () => unknown) => onTestFinished(async () => void (await cleanup()))

/** A folder for one installation, short enough for a socket path. */
export async function temporaryHome(): Promise<string> {
  const home = await mkdtemp(path.join(tmpdir(), 'gw-'))
  afterwards(() => removeFolder(home))
  return home
}

/** All messages that the scripted control plane received. */
interface Heard {
  desired: [appEnvId: string, containers: number][]
  drained: string[]
  unreachable: string[]
  traffic: TrafficSample[]
  requests: RequestBatch[]
  up: number
  down: number
}

export function controlPlane(
  socketPath: string,
  build = 'b1',
  react: { desired?: (id: string, n: number) => void } = {},
) {
  const heard: Heard = {
    desired: [],
    drained: [],
    unreachable: [],
    traffic: [],
    requests: [],
    up: 0,
    down: 0,
  }
  const link: GatewayLink = connectGateway({
    socketPath,
    build,
    clock: systemClock,
    log: silent,
    on: {
      desired: (id, containers) => {
        heard.desired.push([id, containers])
        react.desired?.(id, containers)
      },
      drained: (_id, container) => heard.drained.push(container),
      unreachable: (_id, container) => heard.unreachable.push(container),
      traffic: (samples) => heard.traffic.push(...samples),
      requests: (batches) => heard.requests.push(...batches),
      up: () => heard.up++,
      down: () => heard.down++,
    },
  })
  afterwards(() => link.close())
  return { link, heard }
}

interface Setup {
  gateway: Gateway
  home: string
  socketPath: string
  link: GatewayLink
  heard: Heard
  port: number
}

/** A gateway with a control plane that has sent `routes`. */
export async function startGateway(
  routes: Route[],
  options: {
    clockScale?: number
    drainSeconds?: number
    requestLog?: RequestLogMode
    trustedProxies?: readonly string[]
    proxyProtocol?: boolean
    tlsPort?: number
    desired?: (id: string, n: number) => void
    /** Clock of the gateway; its control plane uses the machine's time. */
    clock?: TestClock
  } = {},
): Promise<Setup> {
  const home = await temporaryHome()
  const socketPath = path.join(home, 'gw.sock')
  const gateway = await runGateway({
    socketPath,
    host: '127.0.0.1',
    port: 0,
    clockScale: options.clockScale ?? 1,
    build: 'b1',
    ...{ requestLog: options.requestLog ?? 'off', tlsPort: options.tlsPort ?? null },
    ...{ trustedProxies: options.trustedProxies ?? [], proxyProtocol: options.proxyProtocol ?? false },
    log: silent,
    clock: options.clock ?? systemClock,
    drainSeconds: options.drainSeconds ?? 1,
  })
  afterwards(async () => {
    let isClosed = false
    const closed = gateway.closed.then(() => {
      isClosed = true
    })
    gateway.shutdown('test over')
    await (options.clock?.advanceUntil(() => isClosed, 'the end of the gateway') ?? closed)
  })
  const { link, heard } = controlPlane(socketPath, 'b1', options)
  link.setRoutes(routes)
  await until(() => heard.up > 0, 'link')
  await routesHeard(gateway.port)
  return { gateway, home, socketPath, link, heard, port: gateway.port }
}

const scaling: FunctionScaling = {
  containerConcurrency: 10,
  timeoutSeconds: 20,
  responseStartTimeoutSeconds: 20,
  idleTimeoutSeconds: 900,
  minScale: 0,
  maxScale: 3,
}

export function functionRoute(
  containers: RouteContainer[],
  change: Partial<FunctionScaling> = {},
  route: Partial<Route> = {},
): Route {
  return {
    appEnvId: 'env_f',
    envName: 'f',
    kind: 'function',
    state: 'serving',
    containers,
    scaling: { ...scaling, ...change },
    ...route,
  }
}

export function appRoute(containers: RouteContainer[], route: Partial<Route> = {}): Route {
  return {
    appEnvId: 'env_a',
    envName: 'a',
    kind: 'app',
    state: 'serving',
    containers,
    scaling: null,
    ...route,
  }
}

export interface Upstream {
  port: number
  /** Requests being served now, the most there ever were, and all. */
  now: number
  most: number
  total: number
  server: http.Server
  container(name: string, draining?: boolean): RouteContainer
}

/** A container: a small HTTP server that counts its concurrent requests. */
export async function upstream(handler: http.RequestListener = (_q, r) => r.end('ok')): Promise<Upstream> {
  const server = http.createServer((request, response) => {
    state.now++
    state.total++
    state.most = Math.max(state.most, state.now)
    response.once('close', () => state.now--)
    handler(request, response)
  })
  const port = await listening(server)
  const state: Upstream = {
    port,
    now: 0,
    most: 0,
    total: 0,
    server,
    container: (name, draining = false) => ({ name, host: '127.0.0.1', port, draining }),
  }
  afterwards(() => {
    server.closeAllConnections()
    server.close()
  })
  return state
}

export async function listening(server: net.Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as net.AddressInfo).port
}

/** A container that speaks bytes, not HTTP. */
export async function rawUpstream(onConnection: (socket: net.Socket) => void): Promise<number> {
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    onConnection(socket)
  })
  const port = await listening(server)
  afterwards(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return port
}

export interface Answer {
  status: number
  headers: http.IncomingHttpHeaders
  body: string
  ms: number
}

export function get(
  port: number,
  host: string,
  options: http.RequestOptions & { body?: string } = {},
): Promise<Answer> {
  const startedMs = performance.now()
  return new Promise((resolve, reject) => {
    const { body, headers, ...rest } = options
    const request = http.request(
      { host: '127.0.0.1', port, agent: false, ...rest, headers: { host, ...headers } },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (piece) => {
          text += piece
        })
        response.on('error', reject)
        response.on('end', () => {
          const ms = performance.now() - startedMs
          resolve({ status: response.statusCode!, headers: response.headers, body: text, ms })
        })
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

/** A raw connection that remembers all it got. */
export function rawConnection(port: number) {
  const socket = net.connect({ port, host: '127.0.0.1' })
  const connection = { socket, text: '', bytes: 0, ended: false, closed: false }
  socket.on('data', (piece) => {
    connection.bytes += piece.length
    if (connection.text.length < 1_000_000) connection.text += piece.toString('latin1')
  })
  socket.on('end', () => {
    connection.ended = true
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    connection.closed = true
  })
  afterwards(() => socket.destroy())
  return connection
}

/** Until the gateway has heard its first routes it answers 503 to unknown names, then 404. */
async function routesHeard(port: number): Promise<void> {
  while ((await get(port, 'nobody.fn.localhost')).status !== 404) {
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** A function whose requests last until the test releases them. */
export async function held(): Promise<{
  container: Upstream
  letGo(count?: number): void
  waiting: () => number
}> {
  const open: (() => void)[] = []
  const container = await upstream((_request, response) => open.push(() => response.end('done')))
  return {
    container,
    letGo: (count = open.length) => {
      for (const end of open.splice(0, count)) end()
    },
    waiting: () => open.length,
  }
}
