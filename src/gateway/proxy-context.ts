import type { Socket } from 'node:net'
import type { Clock } from '../clock.ts'
import type { ClientConnection } from './client-connection.ts'
import type { RouteTable } from './route-table.ts'

/** Takes a connection over that is no longer read here; `read` is what has been read of its next request. */
export type PassOn = (socket: Socket, read: Buffer) => void

/** What all connections share. */
export interface ProxyContext {
  readonly clock: Clock
  readonly table: RouteTable
  /** Who takes a connection that asks for a host which is not in the table; null: nobody. */
  elsewhere(host: string): PassOn | null
  readonly connections: Set<ClientConnection>
  /** Going away: every answer ends its connection. */
  draining: boolean
}
