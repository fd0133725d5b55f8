import type { PodRecord } from '../domain/environment.ts'
import { AppError } from '../errors.ts'
import { containerSpec } from './container-spec.ts'
import type { EnvironmentView, RolloutView } from './environment-view.ts'
import { newLivePod } from './live-pod.ts'
import type { LoopParts } from './loop-parts.ts'

/**
 * The next container of a function, created and not started, so that a cold start is only a start (F2). It has no
 * row: nobody sees it and nothing is billed (F1), and after a crash it is an orphan like any other.
 */
export class SpareContainer {
  readonly #parts: LoopParts
  #record: PodRecord | null = null
  #isMade = false
  #work: Promise<void> = Promise.resolve()

  constructor(parts: LoopParts) {
    this.#parts = parts
  }

  /** The pod the spare is for; a container that names it is not an orphan. */
  get podId(): string | null {
    return this.#record?.podId ?? null
  }

  /** The pod to start next of this version, when there is a container for it. `taken` must follow. */
  offer(rolloutId: string): PodRecord | null {
    return this.#isMade && this.#record?.rolloutId === rolloutId ? this.#record : null
  }

  /** The pod has a row of its own now. */
  taken(): void {
    this.#record = null
    this.#isMade = false
  }

  /** Makes one for this version unless there is one; `newRecord` makes the pod it is for. */
  keep(view: EnvironmentView, rollout: RolloutView, newRecord: () => PodRecord): void {
    const engine = this.#parts.engineOf(rollout.rollout.region)
    if (!engine.prepare || this.#record?.rolloutId === rollout.rollout.rolloutId) return
    this.drop()
    const record = newRecord()
    this.#record = record
    this.#queue(async () => {
      if (this.#record !== record) return
      await engine.prepare?.(containerSpec(view, rollout, newLivePod(record), this.#parts.secrets))
      this.#isMade = this.#record === record
    })
  }

  /** The function stopped, left or has another version. */
  drop(): void {
    const record = this.#record
    if (!record) return
    this.taken()
    this.#queue(() => this.#parts.engineOf(record.region).remove(record.name))
  }

  /** One after the other, beside the passes: a spare that cannot be made costs a slower start, nothing else. */
  #queue(task: () => Promise<unknown>): void {
    this.#work = this.#work.then(task).then(
      () => {},
      (error) => {
        const away = error instanceof AppError
        this.#parts.log[away ? 'debug' : 'warn']({ err: error }, 'no container could be prepared')
      },
    )
  }
}
