import { Histogram } from '../../metrics/histogram.ts'
import type { TrafficSample } from '../../metrics/traffic-sample.ts'

/** A client that disconnects earlier has changed its mind. */
const patientMs = 1_000

/** Counts the requests of one environment since the gateway started. */
export class TrafficCounter {
  #requests = 0
  #answered4xx = 0
  #answered5xx = 0
  #unanswered = 0
  #drained = 0
  #latency = new Histogram()
  #changed = true

  requested(): void {
    this.#requests++
    this.#changed = true
  }

  /** A response was sent; `ms` is its response time. Status 0: the client disconnected before. */
  answered(status: number, ms: number): void {
    this.#changed = true
    if (status >= 500) this.#answered5xx++
    else if (status >= 400) this.#answered4xx++
    else if (status === 0 && ms >= patientMs) this.#unanswered++
    if (status > 0) this.#latency.add(ms)
  }

  /** A drain ended an event stream or a WebSocket. */
  drained(): void {
    this.#changed = true
    this.#drained++
  }

  /** A related value outside these counters has changed. */
  touch(): void {
    this.#changed = true
  }

  /** The counters if anything changed since the last call, with the response times since then. */
  take(appEnvId: string, inFlight: number, queued: number): TrafficSample | null {
    if (!this.#changed) return null
    this.#changed = false
    const drained = this.#drained
    this.#drained = 0
    return {
      appEnvId,
      requests: this.#requests,
      answered4xx: this.#answered4xx,
      answered5xx: this.#answered5xx,
      unanswered: this.#unanswered,
      ...(drained > 0 && { drained }),
      inFlight,
      queued,
      latency: this.#latency.drain(),
    }
  }
}
