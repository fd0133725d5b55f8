import { readFileSync } from 'node:fs'
import net from 'node:net'

/**
 * Picks ports below the range from which the kernel takes ports for outgoing connections: there, a proxied
 * request could hold the number just when the container wants to listen on it.
 */
export class PortPicker {
  readonly #taken = new Set<number>()
  readonly #first: number
  readonly #last: number
  #next: number

  constructor() {
    const ephemeralStart = outgoingRangeStart()
    // Where outgoing ports begin very low (a tuned gateway host), take the upper half of all ports.
    this.#last = ephemeralStart > 12_000 ? ephemeralStart - 1 : 65_535
    this.#first = Math.max(10_000, this.#last - 22_000)
    this.#next = this.#first + Math.floor(Math.random() * (this.#last - this.#first))
  }

  /** A port nobody listens on now and no other container has; give it back with `release`. */
  async take(): Promise<number> {
    for (let tries = 0; tries <= this.#last - this.#first; tries++) {
      const port = this.#next
      this.#next = port >= this.#last ? this.#first : port + 1
      if (this.#taken.has(port)) continue
      this.#taken.add(port)
      if (await isFree(port)) return port
      this.#taken.delete(port)
    }
    throw new Error('no free port is left on this machine')
  }

  release(port: number): void {
    this.#taken.delete(port)
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '0.0.0.0', exclusive: true }, () => server.close(() => resolve(true)))
  })
}

function outgoingRangeStart(): number {
  try {
    return Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10)
  } catch {
    return 32_768
  }
}
