import { connect, type Socket } from 'node:net'
import type { Cancel, Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { FromGateway, Route, ToGateway, TrafficSample } from './gateway-link.ts'
import { JsonLines, jsonLine } from './json-lines.ts'

export type GatewayHello = Extract<FromGateway, { type: 'hello' }>

/** What the control plane hears. Calls come in the order in which the gateway spoke. */
export interface GatewayEvents {
  /** Containers of this function that should take requests; drained and draining ones do not count. */
  desired?(appEnvId: string, containers: number): void
  /** The container gets no more requests and has none: it may be stopped. */
  drained?(appEnvId: string, container: string): void
  unreachable?(appEnvId: string, container: string): void
  traffic?(samples: TrafficSample[]): void
  hello?(hello: GatewayHello): void
  /** The link is there and the routes, once all are known, have been sent. */
  up?(): void
  /** The link is gone; it is being restored. */
  down?(): void
}

export interface GatewayLinkOptions {
  socketPath: string
  /** Build of this control plane; a gateway of another build leaves on hearing it. */
  build: string
  clock: Clock
  log: Log
  on: GatewayEvents
}

const firstRetryMs = 20
const lastRetryMs = 1_000

/**
 * The control plane's side of the link. It remembers the routes; while the link is down changes are only
 * remembered, and when it is back the gateway gets them all. Before the first `setRoutes` the gateway keeps those
 * it has, with their requests and counters. Never throws on a missing gateway.
 */
export class GatewayLink {
  readonly #options: GatewayLinkOptions
  readonly #routes = new Map<string, Route>()
  /** All routes were named once: until then an empty list would make the gateway drop what it serves. */
  #knowsAll = false
  #socket: Socket | null = null
  #up = false
  #retryMs = firstRetryMs
  #cancelRetry: Cancel = () => {}
  #closed = false

  constructor(options: GatewayLinkOptions) {
    this.#options = options
    this.#connect()
  }

  get isUp(): boolean {
    return this.#up
  }

  /** Every route there is; what is not named is gone. */
  setRoutes(routes: readonly Route[]): void {
    this.#knowsAll = true
    this.#routes.clear()
    for (const route of routes) this.#routes.set(route.appEnvId, route)
    this.#send({ type: 'routes', routes: [...routes] })
  }

  /** One route is new or changed. */
  setRoute(route: Route): void {
    this.#routes.set(route.appEnvId, route)
    this.#send({ type: 'route', route })
  }

  dropRoute(appEnvId: string): void {
    if (this.#routes.delete(appEnvId)) this.#send({ type: 'route-gone', appEnvId })
  }

  /** Requests waiting for a first container of this function are answered 503 with this sentence. */
  startFailed(appEnvId: string, message: string): void {
    this.#send({ type: 'start-failed', appEnvId, message })
  }

  /** Tells the gateway to drain and leave. */
  shutdown(): void {
    this.#send({ type: 'shutdown' })
  }

  /** Lets go of the link; the gateway goes on serving. */
  close(): void {
    this.#closed = true
    this.#cancelRetry()
    this.#socket?.end()
    this.#socket?.unref()
  }

  #connect(): void {
    const socket = connect(this.#options.socketPath)
    const lines = new JsonLines<FromGateway>()
    this.#socket = socket
    socket.on('connect', () => {
      socket.write(jsonLine({ type: 'hello', build: this.#options.build } satisfies ToGateway))
    })
    socket.on('data', (piece) => {
      if (this.#closed) return
      try {
        for (const message of lines.read(piece)) this.#take(message)
      } catch (error) {
        this.#options.log.error({ err: error }, 'gateway message could not be handled; link restarted')
        socket.destroy()
      }
    })
    socket.on('error', () => {})
    socket.on('close', () => this.#lost())
  }

  #take(message: FromGateway): void {
    const { on } = this.#options
    switch (message.type) {
      case 'hello':
        this.#up = true
        this.#retryMs = firstRetryMs
        on.hello?.(message)
        if (this.#knowsAll) this.#send({ type: 'routes', routes: [...this.#routes.values()] })
        on.up?.()
        return
      case 'desired':
        on.desired?.(message.appEnvId, message.containers)
        return
      case 'drained':
        on.drained?.(message.appEnvId, message.container)
        return
      case 'unreachable':
        on.unreachable?.(message.appEnvId, message.container)
        return
      case 'traffic':
        on.traffic?.(message.samples)
        return
    }
  }

  #send(message: ToGateway): void {
    if (this.#up) this.#socket?.write(jsonLine(message))
  }

  #lost(): void {
    const wasUp = this.#up
    this.#up = false
    this.#socket = null
    if (wasUp && !this.#closed) this.#options.on.down?.()
    if (this.#closed) return
    this.#cancelRetry = this.#options.clock.after(this.#retryMs, () => this.#connect())
    this.#retryMs = Math.min(lastRetryMs, this.#retryMs * 2)
  }
}

/** Opens the link. Routes set before the gateway answers reach it with its hello. */
export function connectGateway(options: GatewayLinkOptions): GatewayLink {
  return new GatewayLink(options)
}
