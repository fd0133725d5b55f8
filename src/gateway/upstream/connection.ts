import net from 'node:net'

/** Where a connection belongs: the pool of its container. */
export interface ConnectionOwner {
  readonly host: string
  readonly port: number
  /** Takes it back for the next request. */
  keep(connection: UpstreamConnection): void
  /** It is closed. */
  forget(connection: UpstreamConnection): void
  /** The container announced for how many milliseconds it keeps the connection. */
  announced(connection: UpstreamConnection, keepAliveMs: number): void
}

/** The user of an upstream connection: one request from first byte to last, or a tunnel. */
export interface UpstreamUser {
  upstreamConnected(): void
  /** `piece` is only valid during the call: copy it to keep it. */
  upstreamData(piece: Buffer): void
  upstreamDrained(): void
  /** The container sends no more data, but may still read. */
  upstreamEnded(): void
  /** The connection is closed. */
  upstreamClosed(error: Error | null): void
}

/** An answer that has arrived before a write failed is read within this time. */
const lateAnswerMs = 250

/** Shared by all upstream connections, which avoids a 64 KiB allocation per response. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024)

/** One connection to a container. Its listeners are permanent; only its user changes. */
export class UpstreamConnection {
  readonly socket: net.Socket
  /** Has served a request before, so the container may have closed it meanwhile. */
  reused = false
  connected = false
  idleSinceMs = 0
  /** How long the container keeps it open while idle. */
  keepAliveMs: number
  #user: UpstreamUser | null
  #error: Error | null = null

  constructor(
    readonly pool: ConnectionOwner,
    user: UpstreamUser,
    keepAliveMs: number,
  ) {
    this.#user = user
    this.keepAliveMs = keepAliveMs
    const socket = net.connect({
      ...(pool.host.startsWith('/') ? { path: pool.host } : { host: pool.host, port: pool.port }),
      noDelay: true,
      allowHalfOpen: true,
      onread: { buffer: readBuffer, callback: (length) => this.#read(length) },
    })
    this.socket = socket
    this.#readOnAfterFailedWrite()
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

  /**
   * A container that answers early, such as with 413, may close while the body is still being sent. The failed write
   * would destroy the socket together with the answer that waits in it.
   */
  #readOnAfterFailedWrite(): void {
    const { socket } = this
    const destroy = socket.destroy.bind(socket)
    socket.destroy = (error?: NodeJS.ErrnoException) => {
      if (error?.syscall === 'write' && this.#user) setTimeout(() => destroy(error), lateAnswerMs)
      else destroy(error)
      return socket
    }
  }

  #read(length: number): boolean {
    // Data on an idle connection is out of sync: the next response could belong to another request.
    if (this.#user) this.#user.upstreamData(readBuffer.subarray(0, length))
    else this.destroy()
    return true
  }

  take(user: UpstreamUser): void {
    this.#user = user
    this.reused = true
  }

  /** Passes the current request to another user. */
  handOver(user: UpstreamUser): void {
    this.#user = user
  }

  /** Returns the connection for the next request. */
  recycle(nowMs: number): void {
    this.#user = null
    this.idleSinceMs = nowMs
    // It may be paused for a slow client, but the next response must be read.
    if (this.socket.isPaused()) this.socket.resume()
    this.pool.keep(this)
  }

  /** Resets the connection: after a FIN alone, a container might keep working for a client that has disconnected. */
  abort(): void {
    this.#user = null
    if (this.connected) this.socket.resetAndDestroy()
    else this.socket.destroy()
  }

  /** Closes it without further events for its user. */
  destroy(): void {
    this.#user = null
    this.socket.destroy()
  }
}
