import type { Cancel, Clock } from '../../clock.ts'
import {
  comfortableConcurrency,
  decideScale,
  initialScalingState,
  type ScalingState,
  withoutDemand,
} from '../../domain/functions/scaling.ts'
import type { FunctionScaling } from '../control/protocol.ts'

/** Arrivals are observed this long in ms, so that a burst at zero is one decision; longer while more arrive. */
const quietMs = 2
/** Maximum of such observations of one burst; counted, not timed, so that it also works on a busy machine. */
const maxLooks = 16

/** Applies the scaling rule of `domain/functions/scaling.ts` to the current load of one function. */
export class FunctionScaler {
  readonly #clock: Clock
  readonly #clockScale: number
  readonly #evaluate: () => void
  #state: ScalingState = initialScalingState
  #peak = 0
  #lastRequestMs: number | null = null
  /** A higher load than this needs a new decision. */
  #comfortable = 0
  #watching: Cancel | null = null

  /** `evaluate` is called when the load has risen enough for a new decision. */
  constructor(clock: Clock, clockScale: number, evaluate: () => void) {
    this.#clock = clock
    this.#clockScale = clockScale
    this.#evaluate = evaluate
  }

  get desired(): number {
    return this.#state.desired
  }

  /** Whether there was a request recently. */
  get active(): boolean {
    return this.#state.lastActiveMs !== null
  }

  /** A request arrived; `load` are in flight or waiting now. */
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

  /** A start failed and no container is ready: past demand no longer counts. */
  forgetDemand(settings: FunctionScaling): void {
    this.#state = withoutDemand(settings)
    this.#peak = 0
  }

  stop(): void {
    this.#watching?.()
    this.#watching = null
  }

  /** Waits until a burst has arrived, then triggers one decision. */
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
    // A late timer fires before the sockets are read: connections that arrived meanwhile are accepted in one round of
    // the event loop and read in the next, and only after that can the burst be over.
    const lookOnceRead = () => setImmediate(() => setImmediate(() => setImmediate(look)))
    this.#watching = this.#clock.after(quietMs, lookOnceRead)
  }
}

function comfortableLoad(desired: number, settings: FunctionScaling): number {
  if (desired === 0) return 0
  if (desired >= settings.maxScale) return Number.POSITIVE_INFINITY
  return comfortableConcurrency(desired, settings.containerConcurrency)
}
