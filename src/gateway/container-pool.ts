import { UpstreamConnection, type UpstreamUser } from './upstream-connection.ts'

/** Idle connections are used this long at most: Node servers close theirs after 5 s. */
const idleMs = 4_000
/** Idle connections kept for one container at most. */
const maxIdle = 256
/** A container that announces its time-out is left this much of it, so as not to write into its close. */
const marginMs = 1_000

/** The connections to one container, idle ones last used on top. */
export class ContainerPool {
  readonly #idle: UpstreamConnection[] = []
  #closed = false

  constructor(
    readonly host: string,
    readonly port: number,
  ) {}

  /** An idle connection that was used in the last `maxIdleMs`, or null. */
  takeIdle(user: UpstreamUser, nowMs: number, maxIdleMs: number): UpstreamConnection | null {
    for (;;) {
      const connection = this.#idle.pop()
      if (!connection) return null
      const restedMs = nowMs - connection.idleSinceMs
      if (restedMs < connection.keepAliveMs && connection.socket.writable) {
        if (restedMs > maxIdleMs) {
          // Every other one rests longer still.
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

  /** Takes over what the container says about how long it keeps connections, in milliseconds. */
  announced(connection: UpstreamConnection, keepAliveMs: number): void {
    connection.keepAliveMs = Math.min(idleMs, Math.max(0, keepAliveMs - marginMs))
  }

  forget(connection: UpstreamConnection): void {
    const index = this.#idle.lastIndexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
  }

  /** Ends the idle connections that rested too long. */
  sweep(nowMs: number): void {
    while (this.#idle[0] && nowMs - this.#idle[0].idleSinceMs >= idleMs) this.#idle.shift()!.destroy()
  }

  /** Ends the idle connections; busy ones end with their request. */
  close(): void {
    this.#closed = true
    for (const connection of this.#idle.splice(0)) connection.destroy()
  }
}
