import { AppError } from '../errors.ts'
import type { EnvironmentView } from './environment-view.ts'
import type { LoopParts } from './loop-parts.ts'

const firstRetryMs = 1_000
const longestRetryMs = 15_000

/** Makes the image of the wanted version where it is to run, beside the passes; a newer wish ends an older making. */
export class ImageMaking {
  readonly #parts: LoopParts
  readonly #finished: () => void
  readonly #later: (delayMs: number) => void
  #making: { rolloutId: string; controller: AbortController } | null = null
  /** The wish whose image could not be made because the engine is away, and when it is tried again. */
  #held: { rolloutId: string; tries: number; notBeforeMs: number } | null = null

  /** `finished` is told after each making; `later` when to look again. */
  constructor(parts: LoopParts, finished: () => void, later: (delayMs: number) => void) {
    this.#parts = parts
    this.#finished = finished
    this.#later = later
  }

  abort(): void {
    this.#making?.controller.abort()
  }

  look(view: EnvironmentView): void {
    const { wanted } = view
    const needs =
      wanted && !(wanted.rollout.region in wanted.content.images) && wanted.rollout.status !== 'FAILED'
    // The next one begins when this one has ended: both may be of the same content.
    if (this.#making && this.#making.rolloutId !== wanted?.rollout.rolloutId) this.abort()
    if (!needs || this.#making || this.#isHeld(wanted.rollout.rolloutId)) return
    const making = { rolloutId: wanted.rollout.rolloutId, controller: new AbortController() }
    this.#making = making
    void this.#parts.images
      .make(this.#parts.engineOf(wanted.rollout.region), view, wanted, making.controller.signal)
      .catch((error) => {
        const away = error instanceof AppError
        const { appEnvId } = view.environment
        this.#parts.log[away ? 'warn' : 'error']({ err: error, appEnvId }, 'an image is not made yet')
        this.#hold(making.rolloutId)
      })
      .finally(() => {
        this.#making = null
        this.#finished()
      })
  }

  #isHeld(rolloutId: string): boolean {
    if (this.#held?.rolloutId !== rolloutId) return false
    return this.#parts.clock.monotonicMs() < this.#held.notBeforeMs
  }

  #hold(rolloutId: string): void {
    const tries = this.#held?.rolloutId === rolloutId ? this.#held.tries + 1 : 1
    const delayMs = Math.min(firstRetryMs * 2 ** (tries - 1), longestRetryMs)
    this.#held = { rolloutId, tries, notBeforeMs: this.#parts.clock.monotonicMs() + delayMs }
    this.#later(delayMs)
  }
}
