import { spanIdOf, traceIdOf } from '../../trace.ts'
import type { FinishedRequest } from '../routing/request-log.ts'
import type { RequestScheduler } from '../routing/request-scheduler.ts'
import type { RequestHead } from './request-head.ts'

/** Records the outcome of one request for the counters and the request log of its environment. */
export class RequestAccount implements FinishedRequest {
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

  constructor(head: RequestHead, environment: RequestScheduler, arrivedMs: number) {
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

  responseBegan(status: number, nowMs: number): void {
    this.status = status
    this.firstByteMs = nowMs - this.#arrivedMs
  }

  /** The request is done; called once. */
  close(nowMs: number): void {
    const { status, refused } = this
    const durationMs = nowMs - this.#arrivedMs
    this.#environment.answered(status, durationMs)
    this.#environment.requests?.add({ status, durationMs, refused }, this)
  }
}

/** A request that was refused before anything was made for it. */
export function refusedRequest({ method, target, traceparent }: RequestHead): FinishedRequest {
  return {
    method,
    target,
    traceId: traceparent === null ? null : traceIdOf(traceparent),
    spanId: null,
    parentSpanId: traceparent === null ? null : spanIdOf(traceparent),
    firstByteMs: null,
    container: null,
    coldStart: false,
    bytesIn: 0,
    bytesOut: 0,
  }
}
