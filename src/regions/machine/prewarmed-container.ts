import type { PodRecord } from '../../domain/environments/environment.ts'
import { AppError } from '../../errors.ts'
import { containerSpec } from '../rollouts/container-spec.ts'
import type { EnvironmentView, RolloutView } from '../rollouts/environment-view.ts'
import type { WorkerDeps } from './worker-deps.ts'

/**
 * The next container of a function, created but not started, so that a cold start is only a start (F2). It has no
 * row: it is not visible and not billed (F1), and after a crash it is removed as an orphan.
 */
export class PrewarmedContainer {
  readonly #deps: WorkerDeps
  #record: PodRecord | null = null
  #isMade = false
  #work: Promise<void> = Promise.resolve()

  constructor(deps: WorkerDeps) {
    this.#deps = deps
  }

  /** The pod of the prewarmed container; a container with this name is not an orphan. */
  get podId(): string | null {
    return this.#record?.podId ?? null
  }

  /** The next pod of this version, if it has a prewarmed container. `taken` must follow. */
  availability(rolloutId: string): PodRecord | null {
    return this.#isMade && this.#record?.rolloutId === rolloutId ? this.#record : null
  }

  /** The pod has its own row now. */
  taken(): void {
    this.#record = null
    this.#isMade = false
  }

  /** Prewarms a container for this version unless there is one; `newRecord` creates its pod. */
  keep(view: EnvironmentView, rollout: RolloutView, newRecord: () => PodRecord): void {
    const engine = this.#deps.engineOf(rollout.rollout.region)
    if (!engine.prepare || this.#record?.rolloutId === rollout.rollout.rolloutId) return
    this.drop()
    const record = newRecord()
    this.#record = record
    this.#queue(async () => {
      if (this.#record !== record) return
      await engine.prepare?.(containerSpec(view, rollout, record, this.#deps.secrets))
      this.#isMade = this.#record === record
    })
  }

  /** The function was stopped, deleted or has another version. */
  drop(): void {
    const record = this.#record
    if (!record) return
    this.taken()
    this.#queue(() => this.#deps.engineOf(record.region).remove(record.name))
  }

  /** One at a time, outside the passes: if prewarming fails, only the next start is slower. */
  #queue(task: () => Promise<unknown>): void {
    this.#work = this.#work.then(task).then(
      () => {},
      (error) => {
        const away = error instanceof AppError
        this.#deps.log[away ? 'debug' : 'warn']({ err: error }, 'cannot prewarm a container')
      },
    )
  }
}
