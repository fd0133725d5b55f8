import type { TrafficSample } from '../../metrics/traffic-sample.ts'
import { type FunctionScaling, hostsOf, type Route, type Security } from '../control/protocol.ts'
import type { Backend } from './backend.ts'
import { BackendSet, type EnvironmentHost } from './backend-set.ts'
import { FunctionScaler } from './function-scaler.ts'
import { RequestLog } from './request-log.ts'
import { type Refusal, RequestQueue, type Waiter } from './request-queue.ts'
import { TrafficCounter } from './traffic-counter.ts'

const defaultScaling: FunctionScaling = {
  containerConcurrency: 20,
  timeoutSeconds: 60,
  responseStartTimeoutSeconds: 60,
  idleTimeoutSeconds: 900,
  minScale: 0,
  maxScale: 3,
}

/**
 * Schedules the requests of one environment: assigns slots, queues requests, and computes how many containers are
 * needed. Only this class assigns slots, so that a container it has given up cannot get another request. Does not
 * handle sockets.
 */
export class RequestScheduler {
  readonly appEnvId: string
  readonly kind: 'app' | 'function'
  /** Its host names: first the one below a domain that it shares with other environments. */
  hosts: readonly string[] = []
  /** How its domains with a certificate use it; null without such a domain. */
  secure: ReadonlyMap<string, Security> | null = null
  scaling: FunctionScaling
  readonly #host: EnvironmentHost
  #state: Route['state']
  #stopped: Refusal = { why: 'stopped' }
  /** Why no container takes requests. */
  #problem: string | undefined
  readonly #containers: BackendSet
  readonly #waiting = new RequestQueue()
  #inFlight = 0

  readonly #scaler: FunctionScaler
  readonly #traffic = new TrafficCounter()
  /** Null if requests are not logged. */
  readonly requests: RequestLog | null
  #sentDesired: number | null = null

  constructor(route: Route, host: EnvironmentHost) {
    this.appEnvId = route.appEnvId
    this.kind = route.kind
    this.scaling = route.scaling ?? defaultScaling
    this.#state = route.state
    this.#host = host
    const { requestLog = 'off', clock } = host
    this.requests = requestLog === 'off' ? null : new RequestLog(requestLog, () => clock.wallMs())
    this.#containers = new BackendSet(route.appEnvId, host, route.kind === 'app')
    this.#scaler = new FunctionScaler(host.clock, host.clockScale, () => this.evaluate())
    this.update(route)
  }

  get queued(): number {
    return this.#waiting.length
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Whether the scale must be checked periodically: containers run, or requests wait or arrived recently. */
  get awake(): boolean {
    if (this.kind !== 'function' || this.#state === 'stopped') return false
    if (this.#scaler.active || this.#inFlight + this.queued > 0) return true
    return this.#containers.active.length > this.#scaler.desired
  }

  /** Applies a route from the control plane. Requests in flight stay with their containers. */
  update(route: Route): void {
    this.hosts = hostsOf(route)
    this.secure = route.secure ? new Map(Object.entries(route.secure)) : null
    this.scaling = route.scaling ?? defaultScaling
    this.#state = route.state
    this.#problem = route.problem
    this.#containers.replace(route.containers)
    this.#traffic.touch()
    this.#stopped = refusalOf(route)
    if (this.#state === 'stopped') this.#refuseAll(this.#stopped)
    else if (this.#refuses) this.#refuseAll({ why: 'no-container', problem: this.#problem })
    this.#pump()
    this.evaluate()
    this.#containers.checkDrained()
  }

  /** The environment is no longer served. */
  remove(): void {
    this.#scaler.stop()
    this.#containers.replace([])
    this.#state = 'stopped'
    this.#refuseAll({ why: 'gone' })
  }

  /**
   * Whether to reject the next request because of overload, and count it; null: `admit` it. Under overload most
   * requests end here, before any object is created for them.
   */
  shedLoad(): Refusal | null {
    const stopped = this.#state === 'stopped'
    if (!stopped && (this.kind === 'app' || this.queued < this.#maxQueued())) return null
    this.refusedHead(503)
    return stopped ? this.#stopped : { why: 'busy' }
  }

  /** Counts a request that the gateway refused before it was admitted. */
  refusedHead(status: number): void {
    this.#traffic.requested()
    this.#traffic.answered(status, 0)
  }

  /** Assigns a slot immediately, queues the request, or rejects it. */
  admit(waiter: Waiter): void {
    this.#traffic.requested()
    if (this.#state === 'stopped') {
      waiter.refused(this.#stopped)
      return
    }
    if (this.queued === 0) {
      const container = this.#containers.pick(this.#slots())
      if (container) {
        this.#arrived(container)
        waiter.assigned(container)
        return
      }
    }
    if (this.kind === 'app' || this.#refuses) {
      waiter.refused({ why: 'no-container', problem: this.#problem })
      return
    }
    if (this.queued >= this.#maxQueued()) {
      waiter.refused({ why: 'busy' })
      return
    }
    if (this.#containers.active.length === 0) waiter.awaitsStart?.()
    this.#waiting.add(waiter)
    this.#arrived(null)
  }

  /** A waiting request no longer needs a slot. */
  leave(waiter: Waiter): void {
    if (this.#waiting.leave(waiter)) this.#requestEnded()
  }

  /** Returns a slot; the longest-waiting request gets it. */
  release(container: Backend): void {
    this.#freeSlot(container)
    this.#requestEnded()
    this.#pump()
    this.#containers.slotFreed(container, this.queued)
  }

  /**
   * The container refused the connection and nothing was sent: the request goes to another container, before all
   * others.
   */
  retryElsewhere(container: Backend, waiter: Waiter): void {
    this.#freeSlot(container)
    this.#containers.suspect(container, () => this.#pump())
    const other = this.#containers.pick(this.#slots())
    if (other) {
      this.#takeSlot(other)
      waiter.assigned(other)
    } else if (this.kind === 'app' || this.#state === 'stopped') {
      this.#requestEnded()
      waiter.refused(
        this.#state === 'stopped' ? this.#stopped : { why: 'no-container', problem: this.#problem },
      )
    } else {
      this.#waiting.addInFront(waiter)
    }
    this.#containers.slotFreed(container, this.queued)
  }

  /** A container failed to start. Fails queued requests if no container can serve them. */
  startFailed(message: string): void {
    if (this.#containers.active.length > 0) return
    this.#refuseAll({ why: 'start-failed', message })
    this.#scaler.forgetDemand(this.scaling)
    this.evaluate()
  }

  /** A response was sent; `ms` is its response time. Status 0: the client disconnected before. */
  answered(status: number, ms: number): void {
    this.#traffic.answered(status, ms)
  }

  /** A drain ended an event stream or a WebSocket. */
  streamDrained(): void {
    this.#traffic.drained()
  }

  /** Recalculates the scale and reports a change to the control plane. Called on load and periodically. */
  evaluate(): void {
    if (this.kind !== 'function') return
    const ready = this.#containers.active.length
    const stopped = this.#state === 'stopped'
    this.#scaler.decide({ inFlight: this.#inFlight, queued: this.queued, ready, stopped }, this.scaling)
    if (this.#scaler.desired !== this.#sentDesired) this.#sendDesired()
    this.#containers.markSurplus(this.#scaler.desired, this.queued)
  }

  /** A control plane connected or reconnected: send it the whole state. */
  resendState(): void {
    // Counters are cumulative, so sending them twice does no harm, and a lost message is corrected.
    this.#traffic.touch()
    if (this.kind === 'function') this.#sendDesired()
    this.#containers.reportDrainedAgain()
  }

  sweep(nowMs: number): void {
    this.#containers.sweep(nowMs)
  }

  /** The counters if they changed since the last call, with the response times since then. */
  takeSample(): TrafficSample | null {
    return this.#traffic.take(this.appEnvId, this.#inFlight, this.queued)
  }

  #arrived(container: Backend | null): void {
    if (container) this.#takeSlot(container)
    if (this.kind === 'function') this.#scaler.arrived(this.#inFlight + this.queued)
  }

  #takeSlot(container: Backend): void {
    container.inFlight++
    this.#inFlight++
  }

  #freeSlot(container: Backend): void {
    container.inFlight--
    this.#inFlight--
  }

  /** Requests need not wait for a container: an app starts none for them, nor does a function whose checks fail. */
  get #refuses(): boolean {
    return this.#containers.empty && (this.kind === 'app' || this.#problem !== undefined)
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

  #pump(): void {
    while (this.queued > 0) {
      const container = this.#containers.pick(this.#slots())
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

  #sendDesired(): void {
    this.#sentDesired = this.#scaler.desired
    this.#host.report({ type: 'desired', appEnvId: this.appEnvId, containers: this.#scaler.desired })
  }
}

/** The reason that a stopped route serves no requests. */
function refusalOf({ deploying, failure }: Route): Refusal {
  if (deploying) return { why: 'deploying' }
  return failure === undefined ? { why: 'stopped' } : { why: 'never-served', reason: failure }
}
