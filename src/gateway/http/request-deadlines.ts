import type { RequestScheduler } from '../routing/request-scheduler.ts'

/** Apps have no total limit. Their first byte may take this long once the request is complete. */
const appStartMs = 120_000

/** Until when a request may wait for the first and for the last byte of its response, in monotonic time. */
export class RequestDeadlines {
  readonly #forFunction: boolean
  #startMs: number
  readonly #totalMs: number

  constructor(environment: RequestScheduler, requestComplete: boolean, nowMs: number) {
    this.#forFunction = environment.kind === 'function'
    if (this.#forFunction) {
      this.#startMs = nowMs + environment.scaling.responseStartTimeoutSeconds * 1000
      this.#totalMs = nowMs + environment.scaling.timeoutSeconds * 1000
    } else {
      this.#startMs = requestComplete ? nowMs + appStartMs : Number.POSITIVE_INFINITY
      this.#totalMs = Number.POSITIVE_INFINITY
    }
  }

  requestComplete(nowMs: number): void {
    if (!this.#forFunction) this.#startMs = nowMs + appStartMs
  }

  startPassed(nowMs: number): boolean {
    return nowMs >= this.#startMs
  }

  totalPassed(nowMs: number): boolean {
    return nowMs >= this.#totalMs
  }
}
