import type { Socket } from 'node:net'
import { type Clock, every, sleep } from '../../clock.ts'
import type { TrafficSample } from '../../metrics/traffic-sample.ts'
import { mostClients } from '../../open-files.ts'
import { plainAddress, TrustedProxies } from '../../trusted-proxies.ts'
import type { FromGateway, Route, ToGateway } from '../control/protocol.ts'
import type { RequestBatch, RequestLogMode } from '../control/request-record.ts'
import { ClientConnection } from '../http/client-connection.ts'
import { challengeAnswers } from '../http/domain-replies.ts'
import type { Peer } from '../http/forwarding.ts'
import type { Handoff, ProxyContext } from '../http/proxy-context.ts'
import type { EnvironmentHost } from '../routing/backend-set.ts'
import { RouteTable } from '../routing/route-table.ts'

interface ProxyServerOptions {
  clock: Clock
  clockScale: number
  /** Default `off`. */
  requestLog?: RequestLogMode
  /** Default: none. */
  trustedProxies?: readonly string[]
  /** Null while it is closed. */
  tlsPort?(): number | null
  /** Whether a control plane is connected. */
  linked(): boolean
  report(message: FromGateway): void
  /** The handoff for a connection with an unknown host; null if there is none. */
  elsewhere?(host: string): Handoff | null
  /** Open connections of this process; more are closed at once. Default: derived from its limit of open files. */
  mostConnections?: number
}

/** Updates from the control plane about environments. */
export type EnvironmentNews = Extract<
  ToGateway,
  { type: 'routes' | 'route' | 'route-gone' | 'start-failed' | 'challenges' }
>

const sweepMs = 100
const trafficMs = 1_000
const emptyCheckMs = 20
/** Logged requests a second of all environments together; each gets the same share. */
const mostRequests = 1_000

/** Serves the connections and environments of one gateway process. */
export class ProxyServer {
  readonly table: RouteTable
  readonly #options: ProxyServerOptions
  readonly #context: ProxyContext
  readonly #mostConnections: number
  readonly #timers: (() => void)[] = []
  #muted = false
  /** Requests that each environment may log until the next report. */
  #requestShare = mostRequests

  constructor(options: ProxyServerOptions) {
    this.#options = options
    // Each request also has a connection to a container.
    this.#mostConnections = options.mostConnections ?? Math.floor(mostClients() / 1.5)
    const host: EnvironmentHost = {
      clock: options.clock,
      clockScale: options.clockScale,
      requestLog: options.requestLog ?? 'off',
      linked: () => options.linked(),
      report: (message) => {
        if (!this.#muted) options.report(message)
      },
    }
    this.table = new RouteTable(host)
    this.#context = {
      get tlsPort() {
        return options.tlsPort?.() ?? null
      },
      clock: options.clock,
      table: this.table,
      connections: new Set(),
      draining: false,
      challenges: new Map(),
      trusted: new TrustedProxies(options.trustedProxies),
      elsewhere: (name) => options.elsewhere?.(name) ?? null,
    }
  }

  get draining(): boolean {
    return this.#context.draining
  }

  /** Resolves when no connection is left. */
  async emptied(): Promise<void> {
    while (this.#context.connections.size > 0) await sleep(this.#options.clock, emptyCheckMs)
  }

  /** Accepts a connection; `read` is the part that another process has already read. */
  accept(socket: Socket, read?: Buffer, peer = peerOf(socket)): void {
    if (this.#context.connections.size >= this.#mostConnections) {
      socket.destroy()
      return
    }
    const connection = new ClientConnection(socket, this.#context, peer)
    if (read) connection.begin(read)
  }

  take(news: EnvironmentNews): void {
    switch (news.type) {
      case 'routes':
        this.#replaceAll(news.routes)
        return
      case 'route':
        this.table.put(news.route)
        return
      case 'route-gone':
        this.table.drop(news.appEnvId)
        return
      case 'start-failed':
        this.table.get(news.appEnvId)?.startFailed(news.message)
        return
      case 'challenges':
        this.#context.challenges = challengeAnswers(news.challenges)
        return
    }
  }

  startTimers(): void {
    const { clock, clockScale } = this.#options
    const scaleMs = Math.min(1000, Math.max(10, 1000 / clockScale))
    this.#timers.push(
      every(clock, sweepMs, () => this.#sweep()),
      every(clock, scaleMs, () => this.#evaluateAwake()),
      every(clock, trafficMs, () => this.#sendTraffic()),
    )
  }

  /** Closes every connection after its current response; those that take longer than `drainMs` are destroyed. */
  drain(drainMs: number): void {
    this.#context.draining = true
    for (const connection of this.#context.connections) connection.drain()
    const breakAll = () => {
      for (const connection of this.#context.connections) connection.drained()
    }
    this.#timers.push(this.#options.clock.after(drainMs, breakAll))
  }

  stop(): void {
    this.#sendTraffic()
    for (const cancel of this.#timers) cancel()
    for (const environment of this.table.all()) environment.remove()
  }

  #replaceAll(routes: readonly Route[]): void {
    // The whole state is sent afterwards, so its parts need not be sent before.
    this.#muted = true
    try {
      this.table.replaceAll(routes)
    } finally {
      this.#muted = false
    }
    for (const environment of this.table.all()) environment.resendState()
  }

  #sweep(): void {
    const nowMs = this.#options.clock.monotonicMs()
    for (const connection of this.#context.connections) connection.sweep(nowMs)
  }

  #evaluateAwake(): void {
    for (const environment of this.table.all()) if (environment.awake) environment.evaluate()
  }

  #sendTraffic(): void {
    const nowMs = this.#options.clock.monotonicMs()
    for (const environment of this.table.all()) environment.sweep(nowMs)
    if (!this.#options.linked()) return
    const samples: TrafficSample[] = []
    for (const environment of this.table.all()) {
      const sample = environment.takeSample()
      if (sample) samples.push(sample)
    }
    if (samples.length > 0) this.#options.report({ type: 'traffic', samples })
    this.#sendRequests()
  }

  #sendRequests(): void {
    const batches: RequestBatch[] = []
    for (const { appEnvId, requests } of this.table.all()) {
      const records = requests?.take(this.#requestShare) ?? []
      if (records.length > 0) batches.push({ appEnvId, records })
    }
    this.#requestShare = Math.max(1, Math.floor(mostRequests / Math.max(1, batches.length)))
    if (batches.length > 0) this.#options.report({ type: 'requests', batches })
  }
}

function peerOf(socket: Socket): Peer {
  return { address: plainAddress(socket.remoteAddress), proto: 'http' }
}
