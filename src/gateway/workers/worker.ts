import type { Socket } from 'node:net'
import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { RequestLogMode } from '../control/request-record.ts'
import { received, sendable } from '../http/connection-handle.ts'
import type { Peer } from '../http/forwarding.ts'
import type { FromMember, ToMember } from './messages.ts'
import { ProxyServer } from './proxy-server.ts'
import { warmUp } from './warm-up.ts'

interface WorkerOptions {
  clockScale: number
  requestLog?: RequestLogMode
  trustedProxies?: readonly string[]
  tlsPort?: number | null
  log: Log
  clock: Clock
  drainSeconds?: number
}

/**
 * A worker process of a gateway (`worker-pool.ts`): serves its environments on connections that the first process
 * passes to it. Resolves when it is done. Without the first process it exits immediately: a successor serves the same
 * environments, and two processes that assign slots would exceed the limit.
 */
export async function worker(options: WorkerOptions): Promise<void> {
  let linked = false
  let leave: () => void = () => {}
  const left = new Promise<void>((resolve) => {
    leave = resolve
  })
  const send = (message: FromMember) => {
    if (process.connected) process.send?.(message, undefined, {}, () => {})
  }
  const serving = new ProxyServer({
    clock: options.clock,
    clockScale: options.clockScale,
    requestLog: options.requestLog ?? 'off',
    trustedProxies: options.trustedProxies ?? [],
    tlsPort: () => options.tlsPort ?? null,
    linked: () => linked,
    report: (message) => {
      if (message.type !== 'hello') send(message)
    },
    elsewhere: () => passBack,
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
        // The client may have disconnected while its connection was passed on.
        if (handle) serving.accept(received(handle), bytesOf(message.read), message.peer)
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
  // A terminal's signals reach every process; the first process decides when the workers exit.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  const disconnected = new Promise<void>((resolve) => {
    process.once('disconnect', resolve)
    // The first process may have exited while this one started.
    if (!process.connected) resolve()
  })
  serving.startTimers()
  send({ type: 'ready' })
  void warmUp(options.clock)
  await Promise.race([disconnected, left.then(() => serving.emptied())])
  serving.stop()
}

/** The first process knows who serves the host of the next request. */
function passBack(socket: Socket, read: Buffer, peer: Peer): void {
  const handle = sendable(socket)
  if (!handle || !process.connected) {
    socket.destroy()
    return
  }
  const message: FromMember = { type: 'connection', read, peer }
  process.send?.(message, handle, {}, () => socket.destroy())
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
