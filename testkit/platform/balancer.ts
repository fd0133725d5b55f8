import net from 'node:net'

/** A plain TCP balancer: each connection goes to the next port that accepts it. */
export class Balancer {
  readonly #server: net.Server
  readonly #open = new Set<net.Socket>()
  #next = 0

  private constructor(readonly ports: readonly number[]) {
    this.#server = net.createServer((client) => this.#connect(client, ports.length))
  }

  static async start(ports: readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(ports)
    await new Promise<void>((resolve) => balancer.#server.listen(0, '127.0.0.1', resolve))
    return balancer
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`
  }

  /** Breaks every open connection. */
  cut(): void {
    for (const socket of this.#open) socket.resetAndDestroy()
  }

  close(): void {
    this.#server.close()
    this.cut()
  }

  #connect(client: net.Socket, tries: number): void {
    const port = this.ports[this.#next++ % this.ports.length] as number
    const upstream = net.connect(port, '127.0.0.1')
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      this.#open.add(socket)
      socket.once('close', () => this.#open.delete(socket))
    }
    client.on('error', end)
    upstream.once('connect', () => {
      upstream.on('close', end)
      client.on('close', end)
      client.pipe(upstream).pipe(client)
    })
    upstream.on('error', () => {
      if (upstream.connecting && tries > 1 && !client.destroyed) this.#connect(client, tries - 1)
      else end()
    })
  }
}
