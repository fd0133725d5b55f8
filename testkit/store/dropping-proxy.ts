import net from 'node:net'

/** Passes a Unix socket on under another path, until `drops` makes it drop every byte while connections stay open. */
export class DroppingProxy {
  drops = false
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()

  constructor(target: string) {
    this.#server = net.createServer((client) => {
      const upstream = net.connect(target)
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        this.#sockets.add(from)
        from.on('data', (data) => this.drops || to.write(data))
        from.on('error', () => {})
        from.on('close', () => this.drops || to.destroy())
      }
    })
  }

  listen(socket: string): Promise<void> {
    return new Promise((resolve) => this.#server.listen(socket, resolve))
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}
