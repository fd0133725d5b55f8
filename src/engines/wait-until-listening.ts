import net from 'node:net'
import type { Clock } from '../clock.ts'
import type { Address } from './engine.ts'

export type ListenOutcome = 'listening' | 'gone' | 'timeout' | 'canceled'

/**
 * Connects every few milliseconds until the port answers (measured: a connect every 2 ms detects readiness 1 ms after
 * listen). Each attempt has a short deadline and a new socket: the kernel would resend a SYN that was lost before the
 * container's network was up only after a second.
 */
export async function waitUntilListening(options: {
  address: () => Address | null
  stillRunning: () => boolean
  timeoutMs: number
  clock: Clock
  signal: AbortSignal
}): Promise<ListenOutcome> {
  const { clock, signal } = options
  const startedMs = clock.monotonicMs()
  const proxy = new ProxyPatience()
  for (;;) {
    if (signal.aborted) return 'canceled'
    if (!options.stillRunning()) return 'gone'
    const elapsedMs = clock.monotonicMs() - startedMs
    if (elapsedMs > options.timeoutMs) return 'timeout'
    const address = options.address()
    // If the container has exited, whatever accepted the connection was not this container.
    if (address && (await acceptsConnections(address, 50, proxy))) {
      return options.stillRunning() ? 'listening' : 'gone'
    }
    // Often while a start is likely to be short: every 2 ms for two seconds, then every 25 ms.
    await new Promise((resolve) => setTimeout(resolve, elapsedMs < 2_000 ? 2 : 25))
  }
}

/**
 * A proxy accepts, and closes if no program listens behind it: within 1 to 13 ms (measured), later on a busy machine. So the
 * time that a connection must stay open depends on the refusals before it; a direct address needs no such wait.
 */
class ProxyPatience {
  #slowestMs: number | null = null

  get heldOpenMs(): number {
    return this.#slowestMs === null ? 250 : Math.min(2_000, Math.max(100, 8 * this.#slowestMs))
  }

  refused(afterMs: number): void {
    this.#slowestMs = Math.max(this.#slowestMs ?? 0, afterMs)
  }
}

/** Whether something listens there. */
export function acceptsConnections(
  { host, port, proxied }: Address,
  timeoutMs: number,
  proxy = new ProxyPatience(),
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port })
    const finish = (answer: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answer)
    }
    let timer = setTimeout(() => finish(false), timeoutMs)
    socket.once('connect', () => {
      if (!proxied) return finish(true)
      clearTimeout(timer)
      timer = setTimeout(() => finish(true), proxy.heldOpenMs)
      const connectedMs = performance.now()
      socket.once('close', () => proxy.refused(performance.now() - connectedMs))
    })
    socket.once('close', () => finish(false))
    socket.once('error', () => finish(false))
  })
}
