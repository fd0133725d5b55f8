import type { TrafficSample } from './gateway-link.ts'
import { Histogram } from './histogram.ts'

/** Counts the requests of one environment since the gateway started. */
export class TrafficCounter {
  #requests = 0
  #answered4xx = 0
  #answered5xx = 0
  #latency = new Histogram()
  #changed = true

  requested(): void {
    this.#requests++
    this.#changed = true
  }

  /** One answer was given; `ms` from arrival to its last byte. Status 0: the client left before. */
  answered(status: number, ms: number): void {
    this.#changed = true
    if (status >= 500) this.#answered5xx++
    else if (status >= 400) this.#answered4xx++
    if (status > 0) this.#latency.add(ms)
  }

  /** Something outside these counters has changed. */
  touch(): void {
    this.#changed = true
  }

  /** The counters when anything changed since the last call; response times since then. */
  take(appEnvId: string, inFlight: number, queued: number): TrafficSample | null {
    if (!this.#changed) return null
    this.#changed = false
    return {
      appEnvId,
      requests: this.#requests,
      answered4xx: this.#answered4xx,
      answered5xx: this.#answered5xx,
      inFlight,
      queued,
      latency: this.#latency.drain(),
    }
  }
}
