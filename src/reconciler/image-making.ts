import { AppError } from '../errors.ts'
import type { EnvironmentView } from './environment-view.ts'
import type { LoopParts } from './loop-parts.ts'

/** Makes the image of the wanted version where it is to run, beside the passes; a newer wish ends an older making. */
export class ImageMaking {
  readonly #parts: LoopParts
  readonly #finished: () => void
  readonly #failed: () => void
  #making: { rolloutId: string; controller: AbortController } | null = null

  /** `finished` is told after each making; `failed` before that, when it must be tried again later. */
  constructor(parts: LoopParts, finished: () => void, failed: () => void) {
    this.#parts = parts
    this.#finished = finished
    this.#failed = failed
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
    if (!needs || this.#making) return
    const making = { rolloutId: wanted.rollout.rolloutId, controller: new AbortController() }
    this.#making = making
    void this.#parts.images
      .make(this.#parts.engineOf(wanted.rollout.region), view, wanted, making.controller.signal)
      .catch((error) => {
        const away = error instanceof AppError
        const { appEnvId } = view.environment
        this.#parts.log[away ? 'warn' : 'error']({ err: error, appEnvId }, 'an image is not made yet')
        this.#failed()
      })
      .finally(() => {
        this.#making = null
        this.#finished()
      })
  }
}
