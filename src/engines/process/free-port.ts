import { readFileSync } from 'node:fs'
import net from 'node:net'

/**
 * Picks ports below the kernel's range for outgoing connections: a proxied request could otherwise hold the port just
 * when the container wants to listen on it.
 */
export class PortPicker {
  readonly #taken = new Set<number>()
  readonly #first: number
  readonly #last: number
  #next: number

  constructor() {
    const ephemeralStart = outgoingRangeStart()
    // If outgoing ports begin very low (a tuned gateway host), use the upper half of all ports.
    this.#last = ephemeralStart > 12_000 ? ephemeralStart - 1 : 65_535
    this.#first = Math.max(10_000, this.#last - 22_000)
    this.#next = this.#first + Math.floor(Math.random() * (this.#last - this.#first))
  }

  /** Reserves a port that is free and unused by other containers; return it with `release`. */
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
