import net from 'node:net'

/** A TCP link to a port that can be cut, stalled, or refused, as a network may do to a bucket. */
export class FaultyLink {
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()
  /** `stall`: connections stay open, and no byte passes. `refuse`: connections are reset. */
  mode: 'pass' | 'stall' | 'refuse' = 'pass'
  /** Resets the connection after so many bytes of an answer. */
  cutAfterBytes = Number.POSITIVE_INFINITY

  private constructor(readonly target: number) {
    this.#server = net.createServer((client) => this.#connect(client))
  }

  static async start(target: number): Promise<FaultyLink> {
    const link = new FaultyLink(target)
    await new Promise<void>((resolve) => link.#server.listen(0, '127.0.0.1', resolve))
    return link
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #connect(client: net.Socket): void {
    if (this.mode === 'refuse') {
      client.resetAndDestroy()
      return
    }
    const upstream = net.connect(this.target, '127.0.0.1')
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        this.#sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    let answered = 0
    client.on('data', (chunk) => {
      if (this.mode === 'pass') upstream.write(chunk)
      if (this.mode === 'refuse') client.resetAndDestroy()
    })
    upstream.on('data', (chunk) => {
      answered += chunk.length
      if (answered > this.cutAfterBytes) client.resetAndDestroy()
      else if (this.mode === 'pass') client.write(chunk)
    })
  }
}
