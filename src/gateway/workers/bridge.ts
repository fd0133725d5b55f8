import { rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'

/**
 * Makes connections that can be handed to another process for those that cannot, because their TLS is in this process:
 * each is carried over a Unix socket whose far end is handed over.
 */
export class Bridge {
  readonly #path: string
  #server: Promise<Server> | null = null
  /** Who waits for the far end of a connection, in the order in which they connect. */
  readonly #waiting: ((far: Socket | null) => void)[] = []

  /** `path`: in a folder of this user alone. */
  constructor(path: string) {
    this.#path = path
  }

  /** The far end; null if it cannot be made, and then `socket` is closed. */
  async carry(socket: Socket): Promise<Socket | null> {
    socket.pause()
    try {
      this.#server ??= this.#listen()
      await this.#server
      const [near, far] = await this.#pair()
      join(socket, near)
      return far
    } catch {
      socket.destroy()
      return null
    }
  }

  async close(): Promise<void> {
    const server = await this.#server?.catch(() => null)
    server?.close()
  }

  async #listen(): Promise<Server> {
    await rm(this.#path, { force: true })
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (far) => {
      const take = this.#waiting.shift()
      if (take) take(far)
      else far.destroy()
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#path, resolve)
    })
    return server
  }

  #pair(): Promise<[near: Socket, far: Socket]> {
    return new Promise((resolve, reject) => {
      const near = connect({ path: this.#path, allowHalfOpen: true })
      const take = (far: Socket | null) => {
        near.off('error', failed)
        if (far) resolve([near, far])
        else reject(new Error('the bridge is closed'))
      }
      const failed = (error: Error) => {
        const place = this.#waiting.indexOf(take)
        if (place >= 0) this.#waiting.splice(place, 1)
        reject(error)
      }
      near.once('error', failed)
      this.#waiting.push(take)
    })
  }
}

/** Each side ends separately; a broken one breaks the other. */
function join(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => {})
    from.on('close', () => to.destroySoon())
    from.pipe(to)
  }
}
