import type { Cancel, Clock } from '../clock.ts'
import {
  comfortableConcurrency,
  decideScale,
  initialScalingState,
  type ScalingState,
  withoutDemand,
} from '../domain/function-scaling.ts'
import type { FunctionScaling } from './gateway-link.ts'

/** Arrivals are watched this long, so that a burst at zero is one decision; longer while more keep coming, in ms. */
const quietMs = 2
/** Looks of `quietMs` at a burst that goes on; counted, not timed, so that a busy machine gets its time too. */
const maxLooks = 16

/** Applies the scaling rule of `domain/function-scaling.ts` to the load of one function as it comes. */
export class FunctionScaler {
  readonly #clock: Clock
  readonly #clockScale: number
  readonly #evaluate: () => void
  #state: ScalingState = initialScalingState
  #peak = 0
  #lastRequestMs: number | null = null
  /** More requests than this need another decision. */
  #comfortable = 0
  #watching: Cancel | null = null

  /** `evaluate` is called when load has risen so far that a decision is due. */
  constructor(clock: Clock, clockScale: number, evaluate: () => void) {
    this.#clock = clock
    this.#clockScale = clockScale
    this.#evaluate = evaluate
  }

  get desired(): number {
    return this.#state.desired
  }

  /** A request was there lately. */
  get active(): boolean {
    return this.#state.lastActiveMs !== null
  }

  /** A request came; `load` are in flight or waiting now. */
  arrived(load: number): void {
    if (load > this.#peak) this.#peak = load
    if (load > this.#comfortable && this.#watching === null) this.#watchArrivals()
  }

  ended(): void {
    this.#lastRequestMs = this.#clock.monotonicMs()
  }

  decide(
    now: { inFlight: number; queued: number; ready: number; stopped: boolean },
    settings: FunctionScaling,
  ): void {
    const load = now.inFlight + now.queued
    const input = {
      nowMs: this.#clock.monotonicMs(),
      inFlight: now.inFlight,
      queued: now.queued,
      peak: Math.max(this.#peak, load),
      lastRequestMs: this.#lastRequestMs,
      ready: now.ready,
    }
    this.#peak = load
    this.#state = now.stopped
      ? initialScalingState
      : decideScale(this.#state, input, settings, this.#clockScale)
    this.#comfortable = comfortableLoad(this.#state.desired, settings)
  }

  /** A start failed and nobody is served: past demand no longer counts. */
  forgetDemand(settings: FunctionScaling): void {
    this.#state = withoutDemand(settings)
    this.#peak = 0
  }

  stop(): void {
    this.#watching?.()
    this.#watching = null
  }

  /** Waits until a burst has arrived, then lets decide once. */
  #watchArrivals(): void {
    let looks = 0
    let seen = this.#peak
    const look = () => {
      if (this.#watching === null) return
      if (this.#peak > seen && ++looks < maxLooks) {
        seen = this.#peak
        this.#watching = this.#clock.after(quietMs, lookOnceRead)
        return
      }
      this.#watching = null
      this.#evaluate()
    }
    // A timer that fires late fires before the sockets are read: what has arrived meanwhile is accepted in one
    // turn of the event loop and read in the next, and only then is it seen whether all is quiet.
    const lookOnceRead = () => setImmediate(() => setImmediate(() => setImmediate(look)))
    this.#watching = this.#clock.after(quietMs, lookOnceRead)
  }
}

function comfortableLoad(desired: number, settings: FunctionScaling): number {
  if (desired === 0) return 0
  if (desired >= settings.maxScale) return Number.POSITIVE_INFINITY
  return comfortableConcurrency(desired, settings.containerConcurrency)
}
