import { spanIdOf, traceIdOf } from '../../trace.ts'
import type { CutResponse } from '../control/request-record.ts'
import type { FinishedRequest } from '../routing/request-log.ts'
import type { RequestScheduler } from '../routing/request-scheduler.ts'
import { pageIdOf } from './error-page.ts'
import { forwardingOf } from './forwarding.ts'
import { answers, type LocalReply } from './local-reply.ts'
import type { RequestClient } from './request-client.ts'
import type { RequestHead } from './request-head.ts'

/** How a cut response stands in the request log; its client sees a broken connection. */
const cutReplies = { drain: answers.drained, timeout: answers.totalTimeout, container: answers.brokenOff }

/** Records the outcome of one request for the counters and the request log of its environment. */
export class RequestAccount implements FinishedRequest {
  readonly #client: RequestClient
  readonly #head: RequestHead
  readonly #environment: RequestScheduler
  readonly #arrivedMs: number
  status = 0
  refused: string | null = null
  firstByteMs: number | null = null
  container: string | null = null
  coldStart = false
  bytesIn = 0
  bytesOut = 0
  stream = false
  cut: CutResponse | null = null
  #isCounted = false

  constructor(client: RequestClient, head: RequestHead, environment: RequestScheduler, arrivedMs: number) {
    this.#client = client
    this.#head = head
    this.#environment = environment
    this.#arrivedMs = arrivedMs
  }

  get method(): string {
    return this.#head.method
  }

  get target(): string {
    return this.#head.target
  }

  get forwarding() {
    return forwardingOf(this.#head, this.#client.peer, this.#client.context.trusted)
  }

  get clientAddress(): string {
    return this.forwarding.clientAddress
  }

  get traceId(): string | null {
    const { traceparent } = this.#head
    return traceparent === null ? null : traceIdOf(traceparent)
  }

  get spanId(): string | null {
    const { traceparent, block } = this.#head
    return traceparent === null || block.traceparent ? null : spanIdOf(traceparent)
  }

  get parentSpanId(): string | null {
    const given = this.#head.block.traceparent
    return given ? spanIdOf(given) : null
  }

  responseBegan(status: number, nowMs: number, stream: boolean): void {
    this.status = status
    this.firstByteMs = nowMs - this.#arrivedMs
    this.stream = stream
  }

  /** The request became a WebSocket: answered, and not over. */
  upgraded(nowMs: number): void {
    this.responseBegan(101, nowMs, true)
    this.#isCounted = true
    this.#environment.answered(101, this.firstByteMs!)
  }

  /** The gateway replies, or breaks off, in place of the container. */
  refusedWith({ status, error, cause }: LocalReply): void {
    pageIdOf(this.#head)
    this.status = status
    this.refused = cause === undefined ? error : `${error}: ${cause}`
  }

  /**
   * The response ends before it is complete. The client of a stream has had its answer, and a stream without a length
   * never is complete: ended by a drain, it is not an error.
   */
  cutOff(cut: CutResponse, hasLength: boolean): void {
    this.cut = cut
    if (cut === 'drain' && (this.stream || !hasLength)) this.stream = true
    else this.refusedWith(cutReplies[cut])
  }

  /** The request is done; called once. */
  close(nowMs: number): void {
    const { status, refused, stream } = this
    const durationMs = nowMs - this.#arrivedMs
    const responseMs = stream ? (this.firstByteMs ?? durationMs) : durationMs
    if (!this.#isCounted) this.#environment.answered(status, responseMs)
    if (stream && this.cut === 'drain') this.#environment.streamDrained()
    this.#environment.requests?.add({ status, durationMs, refused }, this)
  }
}

/** A request that was refused before anything was made for it. */
export function refusedRequest(head: RequestHead, { peer, context }: RequestClient): FinishedRequest {
  const { method, target, traceparent, block } = head
  const { clientAddress } = forwardingOf(head, peer, context.trusted)
  return unservedRequest({ method, target, traceparent, isOwnTrace: !block.traceparent, clientAddress })
}

export function unservedRequest({
  method,
  target,
  traceparent,
  isOwnTrace,
  clientAddress,
}: Pick<RequestHead, 'method' | 'target' | 'traceparent'> & {
  isOwnTrace: boolean
  clientAddress: string
}): FinishedRequest {
  const span = traceparent === null ? null : spanIdOf(traceparent)
  return {
    method,
    target,
    traceId: traceparent === null ? null : traceIdOf(traceparent),
    spanId: isOwnTrace ? span : null,
    parentSpanId: isOwnTrace ? null : span,
    firstByteMs: null,
    container: null,
    coldStart: false,
    bytesIn: 0,
    bytesOut: 0,
    stream: false,
    cut: null,
    clientAddress,
  }
}
