import type { Clock } from '../../clock.ts'
import { restartDelayMs } from './live-pod.ts'

/** Delays the next start, longer after each container of the serving version that ended early in succession. */
export class StartBackoff {
  readonly #clock: Clock
  #failures = 0
  #notBeforeMs = 0
  #lastFailure = 'The container could not be started.'

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isHolding(): boolean {
    return this.#clock.monotonicMs() < this.#notBeforeMs
  }

  /** Why the last one ended, for users. */
  get lastFailure(): string {
    return this.#lastFailure
  }

  /** Counts another failure; returns the milliseconds until the next start. */
  failed(message: string): number {
    this.#failures += 1
    this.#lastFailure = message
    const delayMs = restartDelayMs(this.#failures)
    this.#notBeforeMs = this.#clock.monotonicMs() + delayMs
    return delayMs
  }

  /** Another version without failures serves now, or this one has proved that it runs. */
  reset(): void {
    this.#failures = 0
  }
}
