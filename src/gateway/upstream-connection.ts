import net from 'node:net'
import type { ContainerPool } from './container-pool.ts'

/** Who uses an upstream connection: one request from first byte to last, or a tunnel. */
export interface UpstreamUser {
  upstreamConnected(): void
  /** `piece` is only valid during the call: what outlives it must be copied. */
  upstreamData(piece: Buffer): void
  upstreamDrained(): void
  /** The container sends no more; what it still reads is another matter. */
  upstreamEnded(): void
  /** The connection is gone. */
  upstreamClosed(error: Error | null): void
}

/** All upstream connections read into this: no allocation of 64 KiB for an answer of one. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024)

/** One connection to a container. Its listeners stay for its life; only its user changes. */
export class UpstreamConnection {
  readonly socket: net.Socket
  /** Has served a request before: the container may have closed it in the meantime. */
  reused = false
  connected = false
  idleSinceMs = 0
  /** How long the container keeps it while idle. */
  keepAliveMs: number
  #user: UpstreamUser | null
  #error: Error | null = null

  constructor(
    readonly pool: ContainerPool,
    user: UpstreamUser,
    keepAliveMs: number,
  ) {
    this.#user = user
    this.keepAliveMs = keepAliveMs
    const socket = net.connect({
      host: pool.host,
      port: pool.port,
      noDelay: true,
      allowHalfOpen: true,
      onread: { buffer: readBuffer, callback: (length) => this.#read(length) },
    })
    this.socket = socket
    socket.on('connect', () => {
      this.connected = true
      this.#user?.upstreamConnected()
    })
    socket.on('drain', () => this.#user?.upstreamDrained())
    socket.on('end', () => {
      if (this.#user) this.#user.upstreamEnded()
      else this.destroy()
    })
    socket.on('error', (error: Error) => {
      this.#error = error
    })
    socket.on('close', () => {
      const leaving = this.#user
      this.#user = null
      pool.forget(this)
      leaving?.upstreamClosed(this.#error)
    })
  }

  #read(length: number): boolean {
    // An idle connection on which something comes is out of step: its next answer could be someone else's.
    if (this.#user) this.#user.upstreamData(readBuffer.subarray(0, length))
    else this.destroy()
    return true
  }

  take(user: UpstreamUser): void {
    this.#user = user
    this.reused = true
  }

  /** Another user goes on with the present request. */
  handOver(user: UpstreamUser): void {
    this.#user = user
  }

  /** Gives the connection back for the next request. */
  recycle(nowMs: number): void {
    this.#user = null
    this.idleSinceMs = nowMs
    // Held back for the sake of a slow client; the next answer must be read.
    if (this.socket.isPaused()) this.socket.resume()
    this.pool.keep(this)
  }

  /** Breaks it off: a container that only sees an end might work on for a client that is gone. */
  abort(): void {
    this.#user = null
    if (this.connected) this.socket.resetAndDestroy()
    else this.socket.destroy()
  }

  /** Ends it; its user hears no more of it. */
  destroy(): void {
    this.#user = null
    this.socket.destroy()
  }
}
