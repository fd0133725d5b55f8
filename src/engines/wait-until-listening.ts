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
  for (;;) {
    if (signal.aborted) return 'canceled'
    if (!options.stillRunning()) return 'gone'
    const elapsedMs = clock.monotonicMs() - startedMs
    if (elapsedMs > options.timeoutMs) return 'timeout'
    const address = options.address()
    // If the container has exited, whatever accepted the connection was not this container.
    if (address && (await acceptsConnections(address, 50))) {
      return options.stillRunning() ? 'listening' : 'gone'
    }
    // Often while a start is likely to be short: every 2 ms for two seconds, then every 25 ms.
    await new Promise((resolve) => setTimeout(resolve, elapsedMs < 2_000 ? 2 : 25))
  }
}

/** A proxy without a listener behind it closes within 1 to 13 ms (measured); direct addresses need no such wait. */
function heldOpenMs(address: Address): number {
  return address.proxied ? 50 : 0
}

/** Whether something listens there. */
export function acceptsConnections(address: Address, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ host: address.host, port: address.port })
    const finish = (answer: boolean) => {
      clearTimeout(timer)
      clearTimeout(held)
      socket.destroy()
      resolve(answer)
    }
    const timer = setTimeout(() => finish(false), timeoutMs + heldOpenMs(address))
    let held: NodeJS.Timeout | undefined
    socket.once('connect', () => {
      if (!address.proxied) return finish(true)
      held = setTimeout(() => finish(true), heldOpenMs(address))
    })
    socket.once('close', () => finish(false))
    socket.once('error', () => finish(false))
  })
}
