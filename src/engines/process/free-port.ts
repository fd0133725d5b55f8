import { readFileSync } from 'node:fs'
import net from 'node:net'

/**
 * Picks ports below the kernel's range for outgoing connections: a proxied request could otherwise hold the port just
 * when the container wants to listen on it.
 */
export class PortPicker {
  readonly #taken = new Map<number, net.Server>()
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
      const claim = await claimed(port)
      if (claim === null) continue
      this.#taken.set(port, claim)
      if (await isFree(port)) return port
      this.release(port)
    }
    throw new Error('no free port is left on this machine')
  }

  release(port: number): void {
    this.#taken.get(port)?.close()
    this.#taken.delete(port)
  }
}

/**
 * Keeps a port from the other installations of this machine until the claim is closed; null if one has it. A port is free
 * until a program listens, and the first to listen would answer for both containers. The name of a Unix socket in the
 * abstract namespace ends with its process, and belongs to the network in which the port does.
 */
function claimed(port: number): Promise<net.Server | null> {
  return new Promise((resolve) => {
    const claim = net.createServer((socket) => socket.destroy()).unref()
    claim.once('error', () => resolve(null))
    claim.listen(`\0longshore-port-${port}`, () => resolve(claim))
  })
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
