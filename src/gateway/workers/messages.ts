import type { FromGateway } from '../control/protocol.ts'
import type { Peer } from '../http/forwarding.ts'
import type { EnvironmentNews } from './proxy-server.ts'

/**
 * The protocol between the first process of a gateway and its workers, over Node's IPC channel. Messages and
 * connections stay in order, so a worker has the route of an environment before its first request.
 */
export type ToMember =
  | EnvironmentNews
  /** Whether a control plane is connected. */
  | { type: 'linked'; linked: boolean }
  /** Sent with a connection; `read` is the part of its next request that has been read. */
  | { type: 'connection'; read: Uint8Array; peer: Peer }
  /** From now on every response closes its connection. */
  | { type: 'drain' }
  /** No more connections will follow: exit after the last one. */
  | { type: 'leave' }

export type FromMember =
  | { type: 'ready' }
  /** Forwarded to the control plane. */
  | Exclude<FromGateway, { type: 'hello' }>
  /** Sent with a connection that requests a host this worker does not serve. */
  | { type: 'connection'; read: Uint8Array; peer: Peer }

/** The process of `count` that serves an environment: a stable mapping, so that no environment moves. */
export function ownerOf(appEnvId: string, count: number): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < appEnvId.length; index++) {
    hash = Math.imul(hash ^ appEnvId.charCodeAt(index), 0x01000193) >>> 0
  }
  // The low bits alone depend on few of the characters.
  return ((hash ^ (hash >>> 15)) >>> 0) % count
}
