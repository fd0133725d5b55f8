import type { Socket } from 'node:net'
import type { Clock } from '../../clock.ts'
import type { UpstreamConnection, UpstreamUser } from '../upstream/connection.ts'

/** After one side has ended, the other one gets this long to end too. */
const halfClosedMs = 1_000

/** A WebSocket: relays bytes both ways with back-pressure until one side disconnects. */
export class Tunnel implements UpstreamUser {
  readonly #client: Socket
  readonly #upstream: UpstreamConnection
  readonly #clock: Clock
  readonly #over: () => void
  #halfClosedMs = Number.POSITIVE_INFINITY

  /** `over` is called when the container has disconnected or must be abandoned. */
  constructor(client: Socket, upstream: UpstreamConnection, clock: Clock, over: () => void) {
    this.#client = client
    this.#upstream = upstream
    this.#clock = clock
    this.#over = over
    upstream.handOver(this)
    // A peer that vanished without FIN must not hold a slot forever.
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
