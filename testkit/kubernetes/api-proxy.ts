import { readFileSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { parse, stringify } from 'yaml'

interface Kubeconfig {
  'current-context': string
  contexts: { name: string; context: { cluster: string } }[]
  clusters: { name: string; cluster: { server: string; 'tls-server-name'?: string } }[]
}

/** A connection to the API server that can be cut: the server is unreachable for one installation, and for no other. */
export class ApiProxy {
  readonly #sockets = new Set<net.Socket>()
  readonly #server: net.Server
  readonly #config: Kubeconfig
  #isCut = false

  constructor(kubeconfig: string) {
    this.#config = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig
    const { hostname, port } = new URL(this.#cluster.server)
    this.#server = net.createServer((client) => {
      if (this.#isCut) return void client.destroy()
      const upstream = net.connect(Number(port || 443), hostname)
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket)
        socket.on('error', () => socket.destroy())
        socket.once('close', () => {
          this.#sockets.delete(socket)
          client.destroy()
          upstream.destroy()
        })
      }
      client.pipe(upstream).pipe(client)
    })
  }

  /** Listens, and writes a kubeconfig that leads here. */
  async open(file: string): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const { hostname } = new URL(this.#cluster.server)
    const { port } = this.#server.address() as net.AddressInfo
    this.#cluster['tls-server-name'] ??= hostname
    this.#cluster.server = `https://127.0.0.1:${port}`
    writeFileSync(file, stringify(this.#config), { mode: 0o600 })
  }

  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  restore(): void {
    this.#isCut = false
  }

  async close(): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  get #cluster() {
    const context = this.#config.contexts.find(({ name }) => name === this.#config['current-context'])
    const found = this.#config.clusters.find(({ name }) => name === context?.context.cluster)
    if (!found) throw new Error('the kubeconfig has no cluster for its context')
    return found.cluster
  }
}
