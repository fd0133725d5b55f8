import { type ConnectionOwner, UpstreamConnection, type UpstreamUser } from './connection.ts'

/** Idle connections are used for at most this long: Node servers close theirs after 5 s. */
const idleMs = 4_000
/** Maximum number of idle connections per container. */
const maxIdle = 256
/** Safety margin before an idle timeout that the container announced, so as not to write into its close. */
const marginMs = 1_000

/** The connections to one container, idle ones last used on top. */
export class UpstreamPool implements ConnectionOwner {
  readonly #idle: UpstreamConnection[] = []
  #closed = false

  constructor(
    readonly host: string,
    readonly port: number,
  ) {}

  /** An idle connection that was used within the last `maxIdleMs`, or null. */
  takeIdle(user: UpstreamUser, nowMs: number, maxIdleMs: number): UpstreamConnection | null {
    for (;;) {
      const connection = this.#idle.pop()
      if (!connection) return null
      const restedMs = nowMs - connection.idleSinceMs
      if (restedMs < connection.keepAliveMs && connection.socket.writable) {
        if (restedMs > maxIdleMs) {
          // All others have been idle even longer.
          this.#idle.push(connection)
          return null
        }
        connection.take(user)
        return connection
      }
      connection.destroy()
    }
  }

  connect(user: UpstreamUser): UpstreamConnection {
    return new UpstreamConnection(this, user, idleMs)
  }

  keep(connection: UpstreamConnection): void {
    if (this.#closed || this.#idle.length >= maxIdle || !connection.socket.writable) connection.destroy()
    else this.#idle.push(connection)
  }

  /** Applies the idle timeout announced by the container, in milliseconds. */
  announced(connection: UpstreamConnection, keepAliveMs: number): void {
    connection.keepAliveMs = Math.min(idleMs, Math.max(0, keepAliveMs - marginMs))
  }

  forget(connection: UpstreamConnection): void {
    const index = this.#idle.lastIndexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
  }

  /** Closes connections that have been idle too long. */
  sweep(nowMs: number): void {
    while (this.#idle[0] && nowMs - this.#idle[0].idleSinceMs >= idleMs) this.#idle.shift()!.destroy()
  }

  /** Closes the idle connections; busy ones close after their request. */
  close(): void {
    this.#closed = true
    for (const connection of this.#idle.splice(0)) connection.destroy()
  }
}
