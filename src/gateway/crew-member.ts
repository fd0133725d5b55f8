import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { received, sendable } from './connection-handle.ts'
import type { FromMember, ToMember } from './crew-link.ts'
import { Serving } from './serving.ts'
import { warmUp } from './warm-up.ts'

export interface CrewMemberOptions {
  clockScale: number
  log: Log
  clock: Clock
  drainSeconds?: number
}

/**
 * A further process of a gateway (`crew.ts`): serves the environments it is told of, on connections that the
 * first process passes to it. Resolves when it has left. Without the first process it ends at once: a successor
 * serves the same environments, and two that give out slots would exceed the limit.
 */
export async function crewMember(options: CrewMemberOptions): Promise<void> {
  let linked = false
  let leave: () => void = () => {}
  const told = new Promise<void>((resolve) => {
    leave = resolve
  })
  const tell = (message: FromMember) => {
    if (process.connected) process.send?.(message, undefined, {}, () => {})
  }
  const serving = new Serving({
    clock: options.clock,
    clockScale: options.clockScale,
    linked: () => linked,
    report: (message) => {
      if (message.type !== 'hello') tell(message)
    },
    elsewhere: () => (socket, read) => {
      const handle = sendable(socket)
      if (!handle || !process.connected) socket.destroy()
      else
        process.send?.({ type: 'connection', read } satisfies FromMember, handle, {}, () => socket.destroy())
    },
  })
  const drain = () => {
    if (!serving.draining) serving.drain((options.drainSeconds ?? 30) * 1000)
  }
  process.on('message', (message: ToMember, handle) => {
    switch (message.type) {
      case 'linked':
        linked = message.linked
        return
      case 'connection':
        // The client may have gone while its connection was on the way.
        if (handle) serving.accept(received(handle), bytesOf(message.read))
        return
      case 'drain':
        drain()
        return
      case 'leave':
        drain()
        leave()
        return
      default:
        serving.take(message)
    }
  })
  // A terminal's signals reach every process; the first one decides when the others leave.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  const disconnected = new Promise<void>((resolve) => {
    process.once('disconnect', resolve)
    // The first process may have ended while this one started.
    if (!process.connected) resolve()
  })
  serving.startTimers()
  tell({ type: 'ready' })
  void warmUp(options.clock)
  await Promise.race([disconnected, told.then(() => serving.emptied())])
  serving.stop()
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
