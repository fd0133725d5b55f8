import type { Socket } from 'node:net'
import type { Clock } from '../../clock.ts'
import type { TrustedProxies } from '../../trusted-proxies.ts'
import type { RouteTable } from '../routing/route-table.ts'
import type { Peer } from './forwarding.ts'
import type { LocalReply } from './local-reply.ts'

/** Takes over a connection that this process no longer reads; `read` is the part of its next request that it has read. */
export type Handoff = (socket: Socket, read: Buffer, peer: Peer) => void

/** A client's connection, as seen by the proxy server. */
interface OpenConnection {
  /** Closes an idle connection; a busy one closes after its response. */
  drain(): void
  /** Ends it, because the time of the drain is over. */
  drained(): void
  /** Enforces the deadlines. */
  sweep(nowMs: number): void
}

/** Shared by all connections. */
export interface ProxyContext {
  readonly clock: Clock
  readonly table: RouteTable
  readonly trusted: TrustedProxies
  /** The handoff for a connection that requests an unknown host; null if there is none. */
  elsewhere(host: string): Handoff | null
  /** The TLS port; null while it is closed. */
  readonly tlsPort: number | null
  /** Answers to certificate authorities by host and path. */
  challenges: ReadonlyMap<string, LocalReply>
  readonly connections: Set<OpenConnection>
  /** Shutting down: every response closes its connection. */
  draining: boolean
}
