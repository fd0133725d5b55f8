import type { FromGateway } from './gateway-link.ts'
import type { EnvironmentNews } from './serving.ts'

/**
 * The words between the first process of a gateway and the others, over Node's IPC channel. A message and the
 * connection that goes with it stay in order, so a member knows an environment before it gets a request for it.
 */
export type ToMember =
  | EnvironmentNews
  /** Whether a control plane listens. */
  | { type: 'linked'; linked: boolean }
  /** A connection goes with it; `read` is what has been read of its next request. */
  | { type: 'connection'; read: Uint8Array }
  /** Every answer is the last of its connection from now on. */
  | { type: 'drain' }
  /** No connection comes any more: leave when the last is gone. */
  | { type: 'leave' }

export type FromMember =
  | { type: 'ready' }
  /** For the control plane. */
  | Exclude<FromGateway, { type: 'hello' }>
  /** A connection that asks for a host this member does not serve goes with it. */
  | { type: 'connection'; read: Uint8Array }

/** Which of `count` processes serves an environment: the same answer always, so that nothing moves. */
export function ownerOf(appEnvId: string, count: number): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < appEnvId.length; index++) {
    hash = Math.imul(hash ^ appEnvId.charCodeAt(index), 0x01000193) >>> 0
  }
  // The low bits alone depend on few of the characters.
  return ((hash ^ (hash >>> 15)) >>> 0) % count
}
