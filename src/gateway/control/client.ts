import { connect, type Socket } from 'node:net'
import type { Cancel, Clock } from '../../clock.ts'
import { JsonLines, jsonLine } from '../../json-lines.ts'
import type { Log } from '../../log.ts'
import type { TrafficSample } from '../../metrics/traffic-sample.ts'
import type { Certificate, Challenge, FromGateway, Route, ToGateway } from './protocol.ts'
import type { RequestBatch } from './request-record.ts'

export type GatewayHello = Extract<FromGateway, { type: 'hello' }>

/** Events for the control plane, in the order in which the gateway sent them. */
export interface GatewayEvents {
  /** Containers of this function that should take requests, without drained and draining ones. */
  desired?(appEnvId: string, containers: number): void
  /** The container gets no more requests and has none in flight: it may be stopped. */
  drained?(appEnvId: string, container: string): void
  unreachable?(appEnvId: string, container: string): void
  traffic?(samples: TrafficSample[]): void
  /** Logged requests since the last call. */
  requests?(batches: RequestBatch[]): void
  hello?(hello: GatewayHello): void
  /** The link is established, and the routes, if all are known, have been sent. */
  up?(): void
  /** The link is lost and is being restored. */
  down?(): void
}

interface GatewayLinkOptions {
  socketPath: string
  /** Build of this control plane; a gateway of another build shuts down after the handshake. */
  build: string
  clock: Clock
  log: Log
  /** A route beside those of environments, whose traffic is not reported. */
  ownRoute?: Route | null
  on: GatewayEvents
}

const firstRetryMs = 20
const lastRetryMs = 1_000

/**
 * The control plane's side of the link. It keeps the routes; changes while the link is down are sent after it is
 * restored. Before the first `setRoutes` the gateway keeps its own routes with their requests and counters. Never
 * throws if there is no gateway.
 */
export class GatewayLink {
  readonly #options: GatewayLinkOptions
  readonly #routes = new Map<string, Route>()
  /** Whether all routes have been set: before that, sending the list would make the gateway drop routes. */
  #knowsAll = false
  /** Null until they are set: the gateway then keeps its own. */
  #certificates: readonly Certificate[] | null = null
  #challenges: readonly Challenge[] | null = null
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

  /** Sets the complete list of routes; other routes are removed. */
  setRoutes(routes: readonly Route[]): void {
    this.#knowsAll = true
    this.#routes.clear()
    const { ownRoute } = this.#options
    const all = ownRoute ? [...routes, ownRoute] : [...routes]
    for (const route of all) this.#routes.set(route.appEnvId, route)
    this.#send({ type: 'routes', routes: all })
  }

  /** Adds or changes one route. */
  setRoute(route: Route): void {
    this.#routes.set(route.appEnvId, route)
    this.#send({ type: 'route', route })
  }

  dropRoute(appEnvId: string): void {
    if (this.#routes.delete(appEnvId)) this.#send({ type: 'route-gone', appEnvId })
  }

  /** Requests that wait for the first container of this function get 503 with this message. */
  startFailed(appEnvId: string, message: string): void {
    this.#send({ type: 'start-failed', appEnvId, message })
  }

  /** Sets the complete list of certificates; open connections keep theirs. */
  setCertificates(certificates: readonly Certificate[]): void {
    this.#certificates = certificates
    this.#send({ type: 'certificates', certificates: [...certificates] })
  }

  /** Sets the complete list of challenges. */
  setChallenges(challenges: readonly Challenge[]): void {
    this.#challenges = challenges
    this.#send({ type: 'challenges', challenges: [...challenges] })
  }

  /** Makes the gateway drain and exit. */
  shutdown(): void {
    this.#send({ type: 'shutdown' })
  }

  /** Closes the link; the gateway continues to serve. */
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
        this.#options.log.error({ err: error }, 'cannot handle a message of the gateway; restarting the link')
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
        if (this.#certificates) this.setCertificates(this.#certificates)
        if (this.#challenges) this.setChallenges(this.#challenges)
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
        on.traffic?.(message.samples.filter((one) => this.#isReported(one)))
        return
      case 'requests':
        on.requests?.(message.batches.filter((one) => this.#isReported(one)))
        return
    }
  }

  #isReported({ appEnvId }: { appEnvId: string }): boolean {
    return appEnvId !== this.#options.ownRoute?.appEnvId
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

/** Opens the link. Routes set before the handshake are sent with it. */
export function connectGateway(options: GatewayLinkOptions): GatewayLink {
  return new GatewayLink(options)
}
