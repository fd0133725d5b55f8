import type { Clock } from '../../clock.ts'
import type { FromGateway, RouteContainer } from '../control/protocol.ts'
import type { RequestLogMode } from '../control/request-record.ts'
import { Backend, leastBusy } from './backend.ts'

/** The gateway functions that an environment needs. */
export interface EnvironmentHost {
  readonly clock: Clock
  readonly clockScale: number
  /** A control plane listens: only then may containers be given up. */
  linked(): boolean
  /** Default `off`. */
  readonly requestLog?: RequestLogMode
  report(message: FromGateway): void
}

/** A container that refused a connection is tried again after this. */
const suspectMs = 500

/** The containers of one environment: which of them gets the next request, and which ones are given up. */
export class BackendSet {
  readonly #appEnvId: string
  readonly #host: EnvironmentHost
  readonly #roundRobin: boolean
  #all: Backend[] = []
  #next = 0

  /** `roundRobin`: equally busy containers get requests in turn; without it the first ones are filled first. */
  constructor(appEnvId: string, host: EnvironmentHost, roundRobin: boolean) {
    this.#appEnvId = appEnvId
    this.#host = host
    this.#roundRobin = roundRobin
  }

  get empty(): boolean {
    return this.#all.length === 0
  }

  /** Those that take requests. */
  get active(): Backend[] {
    return this.#all.filter((container) => container.active)
  }

  /** Takes over the containers of a route. Requests in flight stay where they are. */
  replace(wanted: readonly RouteContainer[]): void {
    const known = new Map(this.#all.map((container) => [container.name, container]))
    this.#all = wanted.map((route) => {
      const old = known.get(route.name)
      if (!old?.isAt(route)) return new Backend(route)
      known.delete(route.name)
      // A container that starts draining again is reported again.
      if (old.draining !== route.draining && !old.retired) old.drainedSent = false
      old.draining = route.draining
      return old
    })
    for (const container of known.values()) {
      container.gone = true
      container.pool.close()
    }
  }

  /** The container for the next request, if one has fewer than `slots`. */
  pick(slots: number): Backend | null {
    const best = leastBusy(this.#all, slots, this.#roundRobin ? this.#next : 0)
    if (best && this.#roundRobin) this.#next = this.#all.indexOf(best) + 1
    return best
  }

  /** A container refused a connection: it gets no request until `after` is called. */
  suspect(container: Backend, after: () => void): void {
    if (container.suspect || container.gone) return
    container.suspect = true
    this.#host.report({ type: 'unreachable', appEnvId: this.#appEnvId, container: container.name })
    this.#host.clock.after(suspectMs, () => {
      container.suspect = false
      after()
    })
  }

  /** Gives up idle containers beyond `desired`, later ones first; busy ones get fewer requests until idle. */
  markSurplus(desired: number, queued: number): void {
    const active = this.active
    let surplus = active.length - desired
    for (const container of active) container.surplus = false
    if (surplus <= 0 || queued > 0) return
    for (const container of [...active].reverse()) {
      if (surplus === 0) return
      if (container.inFlight > 0 || !this.#host.linked()) continue
      this.#retire(container)
      surplus--
    }
    for (const container of this.active.slice(-surplus)) container.surplus = surplus > 0
  }

  /** A slot of the container became free: gives it up if it is idle and surplus. */
  slotFreed(container: Backend, queued: number): void {
    if (container.inFlight > 0) return
    if (container.surplus && container.active && queued === 0 && this.#host.linked()) this.#retire(container)
    this.#checkDrained(container)
  }

  /** Reports the containers that are drained and were not reported yet. */
  checkDrained(): void {
    for (const container of this.#all) this.#checkDrained(container)
  }

  /** A control plane came (back): every drained container is reported again. */
  reportDrainedAgain(): void {
    for (const container of this.#all) {
      container.drainedSent = false
      this.#checkDrained(container)
    }
  }

  sweep(nowMs: number): void {
    for (const container of this.#all) container.pool.sweep(nowMs)
  }

  #retire(container: Backend): void {
    container.retired = true
    container.surplus = false
    this.#checkDrained(container)
  }

  #checkDrained(container: Backend): void {
    if (container.active || container.inFlight > 0 || container.drainedSent || container.gone) return
    if (!this.#host.linked()) return
    container.drainedSent = true
    container.pool.sweep(Number.POSITIVE_INFINITY)
    this.#host.report({ type: 'drained', appEnvId: this.#appEnvId, container: container.name })
  }
}
