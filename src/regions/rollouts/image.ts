import type { Clock } from '../../clock.ts'
import type { Engine } from '../../engines/engine.ts'
import { logLevelOf } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { EnvironmentView } from './environment-view.ts'
import type { ImageBuilder } from './image-builder.ts'

interface RolloutImageDeps {
  clock: Clock
  log: Log
  images: ImageBuilder
  engineOf(region: string): Engine
}

const firstRetryMs = 1_000
const longestRetryMs = 15_000

/**
 * Builds or pulls the image of the wanted version in its region, outside the passes; a newer desired state aborts an
 * older build.
 */
export class RolloutImage {
  readonly #deps: RolloutImageDeps
  readonly #finished: () => void
  readonly #later: (delayMs: number) => void
  #making: { rolloutId: string; controller: AbortController } | null = null
  /** The rollout whose image has to wait for an unavailable engine, and the time of the next attempt. */
  #held: { rolloutId: string; tries: number; notBeforeMs: number } | null = null
  #ended = 0
  #isClosed = false

  /** `finished` is called after each attempt; `later` with the delay until the next check. */
  constructor(deps: RolloutImageDeps, finished: () => void, later: (delayMs: number) => void) {
    this.#deps = deps
    this.#finished = finished
    this.#later = later
  }

  abort(): void {
    this.#making?.controller.abort()
  }

  /** Aborts for good: a pass that is under way begins no other attempt. */
  close(): void {
    this.#isClosed = true
    this.abort()
  }

  /** How many attempts have ended. */
  get ended(): number {
    return this.#ended
  }

  /**
   * `ended` is the count from before the view was read. If an attempt ended since then, the view may lack its image, and
   * another build would replace the image of starting containers. `finished` wakes a pass with a new view.
   */
  look(view: EnvironmentView, ended: number): void {
    const { wanted } = view
    const needs =
      wanted && !(wanted.rollout.region in wanted.content.images) && wanted.rollout.status !== 'FAILED'
    // The next one starts after this one has ended: both may be of the same content.
    if (this.#making && this.#making.rolloutId !== wanted?.rollout.rolloutId) this.abort()
    if (
      this.#isClosed ||
      !needs ||
      this.#making ||
      ended !== this.#ended ||
      this.#isHeld(wanted.rollout.rolloutId)
    )
      return
    const making = { rolloutId: wanted.rollout.rolloutId, controller: new AbortController() }
    this.#making = making
    void this.#deps.images
      .make(this.#deps.engineOf(wanted.rollout.region), view, wanted, making.controller.signal)
      .catch((error) => {
        const { appEnvId } = view.environment
        this.#deps.log[logLevelOf(error)]({ err: error, appEnvId }, 'cannot make an image; retrying')
        this.#hold(making.rolloutId)
      })
      .finally(() => {
        this.#making = null
        this.#ended += 1
        this.#finished()
      })
  }

  #isHeld(rolloutId: string): boolean {
    if (this.#held?.rolloutId !== rolloutId) return false
    return this.#deps.clock.monotonicMs() < this.#held.notBeforeMs
  }

  #hold(rolloutId: string): void {
    const tries = this.#held?.rolloutId === rolloutId ? this.#held.tries + 1 : 1
    const delayMs = Math.min(firstRetryMs * 2 ** (tries - 1), longestRetryMs)
    this.#held = { rolloutId, tries, notBeforeMs: this.#deps.clock.monotonicMs() + delayMs }
    this.#later(delayMs)
  }
}
