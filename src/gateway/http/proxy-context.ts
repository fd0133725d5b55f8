import type { Socket } from 'node:net'
import type { Clock } from '../../clock.ts'
import type { RouteTable } from '../routing/route-table.ts'

/** Takes over a connection that is no longer read here; `read` is the part of its next request that has been read. */
export type Handoff = (socket: Socket, read: Buffer) => void

/** A client's connection, as the server around it sees it. */
interface OpenConnection {
  /** Ends it while idle; a busy one ends with its answer. */
  drain(): void
  break(): void
  /** Ends what takes too long. */
  sweep(nowMs: number): void
}

/** What all connections share. */
export interface ProxyContext {
  readonly clock: Clock
  readonly table: RouteTable
  /** The handoff for a connection that requests an unknown host; null if there is none. */
  elsewhere(host: string): Handoff | null
  readonly connections: Set<OpenConnection>
  /** Going away: every answer ends its connection. */
  draining: boolean
}
