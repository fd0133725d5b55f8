import type { Socket } from 'node:net'
import type { CutResponse } from '../control/request-record.ts'
import type { UpstreamConnection, UpstreamUser } from '../upstream/connection.ts'
import type { RequestClient } from './request-client.ts'
import { restartFrame, WebSocketFrames } from './web-socket-frames.ts'

/** After one side has ended, the other one gets this long to end too. */
const halfClosedMs = 1_000

interface TunnelEvents {
  /** Whether the container or the gateway is being replaced or stopped. */
  leaving(): boolean
  /** The container has disconnected or must be abandoned; called once. */
  over(cut: CutResponse | null): void
}

/** A WebSocket: relays bytes both ways with back-pressure until one side disconnects. */
export class Tunnel implements UpstreamUser {
  readonly #events: TunnelEvents
  readonly #owner: RequestClient
  readonly #client: Socket
  readonly #upstream: UpstreamConnection
  /** Those of the container. */
  readonly #frames = new WebSocketFrames()
  #halfClosedMs = Number.POSITIVE_INFINITY
  /** Why it ended, as the side that ended first shows. */
  #cut: CutResponse | null | undefined

  constructor(owner: RequestClient, upstream: UpstreamConnection, events: TunnelEvents) {
    this.#events = events
    this.#owner = owner
    this.#client = owner.socket
    this.#upstream = upstream
    upstream.handOver(this)
    // A peer that vanished without FIN must not hold a slot forever.
    this.#client.setKeepAlive(true, 30_000)
    upstream.socket.setKeepAlive(true, 30_000)
  }

  /** `early`: what the container sent together with its agreement. */
  begin(early: Buffer | null): void {
    if (early && early.length > 0) this.upstreamData(early)
    const waiting = this.#owner.becomeTunnel()
    if (waiting) this.clientData(waiting)
  }

  clientData(piece: Buffer): void {
    if (!this.#upstream.socket.write(piece)) this.#client.pause()
  }

  clientEnded(): void {
    if (this.#cut === undefined) this.#cut = null
    this.#halfClosedMs = this.#owner.context.clock.monotonicMs()
    this.#upstream.socket.end()
  }

  clientDrained(): void {
    this.#upstream.socket.resume()
  }

  sweep(nowMs: number): void {
    if (nowMs - this.#halfClosedMs > halfClosedMs) this.#events.over(this.#cut ?? null)
  }

  /** The time of a drain is over. */
  drain(): void {
    this.#sayRestart()
    this.#events.over('drain')
  }

  upstreamConnected(): void {}

  upstreamData(piece: Buffer): void {
    this.#frames.scan(piece)
    if (!this.#client.write(Buffer.from(piece))) this.#upstream.socket.pause()
  }

  upstreamDrained(): void {
    this.#client.resume()
  }

  upstreamEnded(): void {
    this.#endClient()
    this.#halfClosedMs = this.#owner.context.clock.monotonicMs()
  }

  upstreamClosed(): void {
    this.#endClient()
    this.#events.over(this.#cut ?? null)
  }

  #endClient(): void {
    if (this.#cut === undefined) {
      const cut = this.#frames.closed ? null : 'container'
      this.#cut = this.#events.leaving() ? 'drain' : cut
    }
    if (this.#events.leaving()) this.#sayRestart()
    this.#client.end()
  }

  /** Lets the client know that it should reconnect, unless the container has closed the WebSocket itself. */
  #sayRestart(): void {
    if (this.#frames.closed || !this.#frames.isBetweenFrames || !this.#client.writable) return
    this.#frames.closed = true
    this.#client.write(restartFrame)
  }
}
