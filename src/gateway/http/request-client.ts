import type { Socket } from 'node:net'
import type { Peer } from './forwarding.ts'
import type { LocalReply } from './local-reply.ts'
import type { ProxyContext } from './proxy-context.ts'
import type { RequestHead } from './request-head.ts'

/** The client's connection, as a request uses it. */
export interface RequestClient {
  readonly socket: Socket
  readonly context: ProxyContext
  readonly peer: Peer
  /** The whole body has been read. */
  readonly requestComplete: boolean
  /** Can carry another request although this one may be answered before it is complete. */
  readonly keepable: boolean
  /** The request can take its body now. */
  pumpBody(): void
  pause(): void
  resume(): void
  /** Sends a local reply. The connection stays open if the request was read completely. */
  answer(answer: LocalReply, head: RequestHead | null): void
  /** The request's answer is on its way; `keep`: the connection may carry another. */
  requestDone(keep: boolean): void
  /** Breaks the connection, so that the client can tell that the answer is incomplete. */
  break(): void
  /** Hands over to a tunnel; returns the bytes that came early. */
  becomeTunnel(): Buffer | null
}
