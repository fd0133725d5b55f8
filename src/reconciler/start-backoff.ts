import type { Clock } from '../clock.ts'
import { restartDelayMs } from './live-pod.ts'

/** Containers of the serving version that ended early, one after another, hold up the next start for longer. */
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

  /** Why the last one ended, for a person. */
  get lastFailure(): string {
    return this.#lastFailure
  }

  /** Counts one more; returns the milliseconds until the next start. */
  failed(message: string): number {
    this.#failures += 1
    this.#lastFailure = message
    const delayMs = restartDelayMs(this.#failures)
    this.#notBeforeMs = this.#clock.monotonicMs() + delayMs
    return delayMs
  }

  /** Another version serves now and has not failed yet, or this one has proved that it runs. */
  reset(): void {
    this.#failures = 0
  }
}
