import { isLoopback } from '../../loopback.ts'
import type { Address, ListenerReading } from '../engine.ts'
import { isWildcard } from '../listening-sockets.ts'
import { listeningSockets, type ProcessRow, treeOf } from './supervisor/proc-tree.ts'
import type { ContainerRecord } from './supervisor/protocol.ts'

/**
 * Represents the outside of a container, which shares the machine's network: sockets bound to all interfaces answer
 * here, sockets bound to 127.0.0.1 or ::1 do not.
 */
export const outsideHost = '127.0.0.2'

/** The sockets on which the processes of a running container listen. */
export function readListeners(record: ContainerRecord, rows: readonly ProcessRow[]): ListenerReading {
  const { sockets, hidden } = listeningSockets(treeOf(record.pid!, rows).map((row) => row.pid))
  return { sockets, ...(hidden && { unreadable: 'Some of its processes run as another user.' }) }
}

/**
 * The address at which the process tree accepts connections from outside, on PORT or on the declared port, as if it
 * had its own network; null if there is none.
 */
export function acceptingAddress(record: ContainerRecord, rows: readonly ProcessRow[]): Address | null {
  const { sockets } = readListeners(record, rows)
  const accepting = sockets.filter(({ address }) => !isLoopback(address))
  const found =
    accepting.find(({ port }) => port === record.port) ??
    accepting.find(({ port }) => port === record.declaredPort)
  return found ? { host: isWildcard(found.address) ? outsideHost : found.address, port: found.port } : null
}
