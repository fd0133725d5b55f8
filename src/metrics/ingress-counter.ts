import { addCounts } from './histogram.ts'
import type { IngressSample } from './sample.ts'
import type { TrafficCounts } from './source.ts'
import type { TrafficSample } from './traffic-sample.ts'

/** Requests, 4xx responses, 5xx responses and unanswered requests since a gateway started. */
type Counters = [requests: number, answered4xx: number, answered5xx: number, unanswered: number]

/** Stored state, so that counting continues if a gateway survives the control plane. */
export interface IngressState {
  gatewayPid: number | null
  counters: Record<string, Counters>
}

type Counted = Omit<IngressSample, 'seconds'>

/** The gateway reports once a second; a shorter sample would show bursts that did not happen. */
const leastMs = 1_000

/**
 * Turns the gateway's counters, which run from its start, into the traffic between two samples. Exact across
 * restarts: a gateway with another process id counts from zero, the same one continues from the stored state.
 */
export class IngressCounter {
  readonly #longestMs: number
  #gatewayPid: number | null = null
  #up = false
  #counters = new Map<string, Counters>()
  #changed = new Set<string>()
  #counted = new Map<string, Counted>()
  #totals: Counters = [0, 0, 0, 0]
  #drained = 0
  #inFlight = new Map<string, number>()
  #sinceMs: number | null = null

  constructor(periodMs: number) {
    this.#longestMs = 3 * Math.max(periodMs, leastMs)
  }

  /** Requests and responses of all environments since this process started, and requests in flight now. */
  get totals() {
    const [requests, answered4xx, answered5xx] = this.#totals
    let inFlight = 0
    for (const count of this.#inFlight.values()) inFlight += count
    return { requests, answered4xx, answered5xx, drained: this.#drained, inFlight }
  }

  /** Requests by environment since the gateway started. */
  requests(): ReadonlyMap<string, number> {
    return new Map([...this.#counters].map(([appEnvId, [requests]]) => [appEnvId, requests]))
  }

  /** Restores stored state, oldest first, with the monotonic time of its sample. */
  restore(state: IngressState, sampleMonotonicMs: number): void {
    if (state.gatewayPid !== this.#gatewayPid) this.#counters.clear()
    this.#gatewayPid = state.gatewayPid
    // Stored by an earlier version, they lack unanswered requests.
    for (const [appEnvId, [requests, answered4xx, answered5xx, unanswered = 0]] of Object.entries(
      state.counters,
    ))
      this.#counters.set(appEnvId, [requests, answered4xx, answered5xx, unanswered])
    this.#sinceMs = sampleMonotonicMs
  }

  /** The gateway is connected and has identified itself. */
  hello(pid: number, nowMs: number): void {
    if (pid !== this.#gatewayPid) {
      this.#counters.clear()
      this.#inFlight.clear()
    }
    this.#sinceMs ??= nowMs
    this.#gatewayPid = pid
    this.#up = true
  }

  down(): void {
    this.#up = false
  }

  /** Takes a report of the gateway, and returns the increase since the last one. */
  traffic(samples: readonly TrafficSample[]): ({ appEnvId: string } & TrafficCounts)[] {
    return samples.map((sample) => {
      const [requests, , failed, unanswered] = this.#add(sample)
      return { appEnvId: sample.appEnvId, requests, failed, unanswered }
    })
  }

  /**
   * Ends a sampling period and returns its traffic by environment. Null while the gateway is down, too soon after the
   * last call, or after so long that an average would be meaningless.
   */
  take(nowMs: number): ((appEnvId: string) => IngressSample) | null {
    if (!this.#up) return null
    this.#sinceMs ??= nowMs
    const elapsedMs = nowMs - this.#sinceMs
    if (elapsedMs < leastMs) return null
    const counted = this.#counted
    const seconds = elapsedMs / 1_000
    this.#counted = new Map()
    this.#sinceMs = nowMs
    return elapsedMs > this.#longestMs ? null : (appEnvId) => sampleOf(counted.get(appEnvId), seconds)
  }

  /** Traffic of an environment since the last `take`, without ending the period; null if there was none. */
  peek(appEnvId: string, nowMs: number): IngressSample | null {
    const counted = this.#counted.get(appEnvId)
    const elapsedMs = nowMs - (this.#sinceMs ?? nowMs)
    if (!counted || elapsedMs <= 0 || elapsedMs > this.#longestMs) return null
    return sampleOf(counted, elapsedMs / 1_000)
  }

  /** The state to store with a sample: all counters, or those that changed since the last call. */
  state(whole: boolean): IngressState {
    const ids = whole ? [...this.#counters.keys()] : [...this.#changed]
    this.#changed.clear()
    const counters = Object.fromEntries(
      ids.flatMap((appEnvId) => {
        const known = this.#counters.get(appEnvId)
        return known ? [[appEnvId, known]] : []
      }),
    )
    return { gatewayPid: this.#gatewayPid, counters }
  }

  forget(appEnvId: string): void {
    for (const map of [this.#counters, this.#counted, this.#inFlight]) map.delete(appEnvId)
    this.#changed.delete(appEnvId)
  }

  #add(sample: TrafficSample): Counters {
    const { appEnvId, requests, answered4xx, answered5xx, unanswered, drained = 0, latency } = sample
    this.#drained += drained
    const now: Counters = [requests, answered4xx, answered5xx, unanswered]
    const known = this.#counters.get(appEnvId)
    // Lower than before: the route was removed and added again, so its counters restarted.
    const before = known?.every((count, index) => count <= now[index]!) ? known : [0, 0, 0, 0]
    const more = now.map((count, index) => count - before[index]!) as Counters
    let counted = this.#counted.get(appEnvId)
    if (!counted) {
      counted = { requests: 0, answered4xx: 0, answered5xx: 0, latency: {} }
      this.#counted.set(appEnvId, counted)
    }
    counted.requests += more[0]
    counted.answered4xx += more[1]
    counted.answered5xx += more[2]
    addCounts(counted.latency, latency)
    this.#totals = this.#totals.map((total, index) => total + more[index]!) as Counters
    this.#counters.set(appEnvId, now)
    this.#changed.add(appEnvId)
    this.#inFlight.set(appEnvId, sample.inFlight)
    return more
  }
}

function sampleOf(counted: Counted | undefined, seconds: number): IngressSample {
  const { requests = 0, answered4xx = 0, answered5xx = 0, latency = {} } = counted ?? {}
  return { seconds, requests, answered4xx, answered5xx, latency }
}
