import type { Socket } from 'node:net'
import type { Clock } from '../clock.ts'
import type { UpstreamConnection, UpstreamUser } from './upstream-connection.ts'

/** One side has ended: the other gets so long to end too. */
const halfClosedMs = 1_000

/** A WebSocket: bytes both ways, each side held back when the other is slower, until one of them is gone. */
export class Tunnel implements UpstreamUser {
  readonly #client: Socket
  readonly #upstream: UpstreamConnection
  readonly #clock: Clock
  readonly #over: () => void
  #halfClosedMs = Number.POSITIVE_INFINITY

  /** `over` is called when the container's side is gone or has to be given up. */
  constructor(client: Socket, upstream: UpstreamConnection, clock: Clock, over: () => void) {
    this.#client = client
    this.#upstream = upstream
    this.#clock = clock
    this.#over = over
    upstream.handOver(this)
    // A peer that vanished without a word must not hold a slot for ever.
    client.setKeepAlive(true, 30_000)
    upstream.socket.setKeepAlive(true, 30_000)
  }

  clientData(piece: Buffer): void {
    if (!this.#upstream.socket.write(piece)) this.#client.pause()
  }

  clientEnded(): void {
    this.#halfClosedMs = this.#clock.monotonicMs()
    this.#upstream.socket.end()
  }

  clientDrained(): void {
    this.#upstream.socket.resume()
  }

  sweep(nowMs: number): void {
    if (nowMs - this.#halfClosedMs > halfClosedMs) this.#over()
  }

  upstreamConnected(): void {}

  upstreamData(piece: Buffer): void {
    if (!this.#client.write(Buffer.from(piece))) this.#upstream.socket.pause()
  }

  upstreamDrained(): void {
    this.#client.resume()
  }

  upstreamEnded(): void {
    this.#halfClosedMs = this.#clock.monotonicMs()
    this.#client.end()
  }

  upstreamClosed(): void {
    this.#client.end()
    this.#over()
  }
}
