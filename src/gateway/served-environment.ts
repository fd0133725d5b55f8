import type { Clock } from '../clock.ts'
import { FunctionScaler } from './function-scaler.ts'
import type { FromGateway, FunctionScaling, Route, TrafficSample } from './gateway-link.ts'
import { leastBusy, ServedContainer } from './served-container.ts'
import { TrafficCounter } from './traffic-counter.ts'
import { type Refusal, type Waiter, WaitingLine } from './waiting-line.ts'

/** What an environment needs from the gateway around it. */
export interface EnvironmentHost {
  readonly clock: Clock
  readonly clockScale: number
  /** A control plane listens: only then may containers be given up. */
  linked(): boolean
  report(message: FromGateway): void
}

/** A container that refused a connection is tried again after this. */
const suspectMs = 500

const defaultScaling: FunctionScaling = {
  containerConcurrency: 20,
  timeoutSeconds: 60,
  responseStartTimeoutSeconds: 60,
  idleTimeoutSeconds: 900,
  minScale: 0,
  maxScale: 3,
}

/**
 * The requests of one environment: who gets a slot of which container, who waits, how many containers are
 * needed. It is the only place that assigns, so that a container it gives up cannot get one more request. Knows
 * nothing of sockets.
 */
export class ServedEnvironment {
  readonly appEnvId: string
  readonly kind: 'app' | 'function'
  envName: string
  scaling: FunctionScaling
  readonly #host: EnvironmentHost
  #state: Route['state']
  #containers: ServedContainer[] = []
  #next = 0
  readonly #waiting = new WaitingLine()
  #inFlight = 0

  readonly #scaler: FunctionScaler
  readonly #traffic = new TrafficCounter()
  #sentDesired: number | null = null

  constructor(route: Route, host: EnvironmentHost) {
    this.appEnvId = route.appEnvId
    this.envName = route.envName
    this.kind = route.kind
    this.scaling = route.scaling ?? defaultScaling
    this.#state = route.state
    this.#host = host
    this.#scaler = new FunctionScaler(host.clock, host.clockScale, () => this.evaluate())
    this.update(route)
  }

  get queued(): number {
    return this.#waiting.length
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Needs a look at its scale every so often: something runs, waits or was lately asked for. */
  get awake(): boolean {
    if (this.kind !== 'function' || this.#state === 'stopped') return false
    if (this.#scaler.active || this.#inFlight + this.queued > 0) return true
    return this.#activeContainers().length > this.#scaler.desired
  }

  /** Takes over what the control plane says. Requests in flight stay where they are. */
  update(route: Route): void {
    this.envName = route.envName
    this.scaling = route.scaling ?? defaultScaling
    this.#state = route.state
    const known = new Map(this.#containers.map((container) => [container.name, container]))
    this.#containers = route.containers.map((wanted) => {
      const old = known.get(wanted.name)
      if (!old?.isAt(wanted)) return new ServedContainer(wanted)
      known.delete(wanted.name)
      // A container that starts to drain anew is reported anew.
      if (old.draining !== wanted.draining && !old.retired) old.drainedSent = false
      old.draining = wanted.draining
      return old
    })
    for (const container of known.values()) {
      container.gone = true
      container.pool.close()
    }
    this.#traffic.touch()
    if (this.#state === 'stopped') this.#refuseAll({ why: 'stopped' })
    else if (this.kind === 'app' && this.#containers.length === 0) this.#refuseAll({ why: 'no-container' })
    this.#pump()
    this.evaluate()
    for (const container of this.#containers) this.#checkDrained(container)
  }

  /** The environment is no longer served. */
  remove(): void {
    this.#scaler.stop()
    for (const container of this.#containers) {
      container.gone = true
      container.pool.close()
    }
    this.#containers = []
    this.#state = 'stopped'
    this.#refuseAll({ why: 'gone' })
  }

  /**
   * Why one more request cannot even wait, counted as one that was refused; null: `admit` it. Under overload most
   * requests end here, before anything is made for them.
   */
  turnAway(): Refusal | null {
    const stopped = this.#state === 'stopped'
    if (!stopped && (this.kind === 'app' || this.queued < this.#maxQueued())) return null
    this.#traffic.requested()
    this.#traffic.answered(503, 0)
    return stopped ? { why: 'stopped' } : { why: 'busy' }
  }

  /** Gives the waiter a slot at once, lets it wait, or refuses it. */
  admit(waiter: Waiter): void {
    this.#traffic.requested()
    if (this.#state === 'stopped') {
      waiter.refused({ why: 'stopped' })
      return
    }
    if (this.queued === 0) {
      const container = this.#pick()
      if (container) {
        this.#arrived(container)
        waiter.assigned(container)
        return
      }
    }
    if (this.kind === 'app') {
      waiter.refused({ why: 'no-container' })
      return
    }
    if (this.queued >= this.#maxQueued()) {
      waiter.refused({ why: 'busy' })
      return
    }
    this.#waiting.add(waiter)
    this.#arrived(null)
  }

  /** A waiter no longer wants its slot. */
  leave(waiter: Waiter): void {
    if (this.#waiting.leave(waiter)) this.#requestEnded()
  }

  /** Gives a slot back; who waits longest gets it. */
  release(container: ServedContainer): void {
    this.#freeSlot(container)
    this.#requestEnded()
    this.#pump()
    this.#settle(container)
  }

  /** The container refused the connection and nothing was sent: the request goes to another, before all others. */
  retryElsewhere(container: ServedContainer, waiter: Waiter): void {
    this.#freeSlot(container)
    if (!container.suspect && !container.gone) this.#suspect(container)
    const other = this.#pick()
    if (other) {
      this.#takeSlot(other)
      waiter.assigned(other)
    } else if (this.kind === 'app' || this.#state === 'stopped') {
      this.#requestEnded()
      waiter.refused({ why: this.#state === 'stopped' ? 'stopped' : 'no-container' })
    } else {
      this.#waiting.addInFront(waiter)
    }
    this.#settle(container)
  }

  /** A container could not be started. Who waits with none to hope for is told so. */
  startFailed(message: string): void {
    if (this.#containers.some((container) => container.active)) return
    this.#refuseAll({ why: 'start-failed', message })
    this.#scaler.forgetDemand(this.scaling)
    this.evaluate()
  }

  /** One answer was given; `ms` from arrival to its last byte. Status 0: the client left before. */
  answered(status: number, ms: number): void {
    this.#traffic.answered(status, ms)
  }

  /** Decides the scale anew and tells the control plane when it changed. Called on load and every so often. */
  evaluate(): void {
    if (this.kind !== 'function') return
    const ready = this.#activeContainers().length
    const stopped = this.#state === 'stopped'
    this.#scaler.decide({ inFlight: this.#inFlight, queued: this.queued, ready, stopped }, this.scaling)
    if (this.#scaler.desired !== this.#sentDesired) this.#sendDesired()
    this.#markSurplus()
  }

  /** A control plane came (back): it hears the state from the start. */
  tellAgain(): void {
    // Counters run on, so one that is told twice counts once, and one that got lost is made good.
    this.#traffic.touch()
    if (this.kind === 'function') this.#sendDesired()
    for (const container of this.#containers) {
      container.drainedSent = false
      this.#checkDrained(container)
    }
  }

  sweep(nowMs: number): void {
    for (const container of this.#containers) container.pool.sweep(nowMs)
  }

  /** The counters, when they changed since the last call; response times since then. */
  takeSample(): TrafficSample | null {
    return this.#traffic.take(this.appEnvId, this.#inFlight, this.queued)
  }

  #arrived(container: ServedContainer | null): void {
    if (container) this.#takeSlot(container)
    if (this.kind === 'function') this.#scaler.arrived(this.#inFlight + this.queued)
  }

  #takeSlot(container: ServedContainer): void {
    container.inFlight++
    this.#inFlight++
  }

  #freeSlot(container: ServedContainer): void {
    container.inFlight--
    this.#inFlight--
  }

  #requestEnded(): void {
    this.#traffic.touch()
    this.#scaler.ended()
  }

  #slots(): number {
    if (this.kind === 'app' || this.scaling.containerConcurrency === 0) return Number.POSITIVE_INFINITY
    return this.scaling.containerConcurrency
  }

  #maxQueued(): number {
    const { containerConcurrency, maxScale } = this.scaling
    return Math.max(200, 10 * (containerConcurrency || 100) * maxScale)
  }

  #activeContainers(): ServedContainer[] {
    return this.#containers.filter((container) => container.active)
  }

  /** Apps take turns among equals. */
  #pick(): ServedContainer | null {
    const containers = this.#containers
    if (this.kind === 'function') return leastBusy(containers, this.#slots(), 0)
    const best = leastBusy(containers, this.#slots(), this.#next)
    if (best) this.#next = containers.indexOf(best) + 1
    return best
  }

  #pump(): void {
    while (this.queued > 0) {
      const container = this.#pick()
      if (!container) return
      this.#takeSlot(container)
      this.#waiting.shift().assigned(container)
    }
  }

  #refuseAll(refusal: Refusal): void {
    const waiting = this.#waiting.takeAll()
    if (waiting.length > 0) this.#requestEnded()
    for (const waiter of waiting) waiter.refused(refusal)
  }

  #suspect(container: ServedContainer): void {
    container.suspect = true
    this.#host.report({ type: 'unreachable', appEnvId: this.appEnvId, container: container.name })
    this.#host.clock.after(suspectMs, () => {
      container.suspect = false
      this.#pump()
    })
  }

  #sendDesired(): void {
    this.#sentDesired = this.#scaler.desired
    this.#host.report({ type: 'desired', appEnvId: this.appEnvId, containers: this.#scaler.desired })
  }

  /** Gives up idle containers beyond what is desired, later ones first; busy ones get fewer requests until idle. */
  #markSurplus(): void {
    const active = this.#activeContainers()
    let surplus = active.length - this.#scaler.desired
    for (const container of active) container.surplus = false
    if (surplus <= 0 || this.queued > 0) return
    for (const container of [...active].reverse()) {
      if (surplus === 0) return
      if (container.inFlight > 0 || !this.#host.linked()) continue
      this.#retire(container)
      surplus--
    }
    for (const container of this.#activeContainers().slice(-surplus)) container.surplus = surplus > 0
  }

  #settle(container: ServedContainer): void {
    if (container.inFlight > 0) return
    if (container.surplus && container.active && this.queued === 0 && this.#host.linked()) {
      this.#retire(container)
    }
    this.#checkDrained(container)
  }

  #retire(container: ServedContainer): void {
    container.retired = true
    container.surplus = false
    this.#checkDrained(container)
  }

  #checkDrained(container: ServedContainer): void {
    if (container.active || container.inFlight > 0 || container.drainedSent || container.gone) return
    if (!this.#host.linked()) return
    container.drainedSent = true
    container.pool.sweep(Number.POSITIVE_INFINITY)
    this.#host.report({ type: 'drained', appEnvId: this.appEnvId, container: container.name })
  }
}
