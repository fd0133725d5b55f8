import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import { listRevisionsIn } from '../../store/repositories/environments-in-regions.ts'
import { Worker } from '../../worker.ts'

const lookEveryMs = 5_000

/** The regions that the reconciler of a machine runs, if it does not run the whole store. */
export interface MachineScope {
  /** The name of the machine, where several share the store. */
  node?: string
  regions: readonly string[]
}

interface OwnEnvironmentsDeps {
  db: Db
  clock: Clock
  log: Log
  /** Absent: this control plane runs every environment, and makes each change itself. */
  scope?: MachineScope | undefined
  /** Whether the reconciler has the environment: a deleted one has no row. */
  has(appEnvId: string): boolean
  wake(appEnvIds: readonly string[]): void
}

/**
 * Wakes the environments of this machine that were changed. Other control planes announce their changes; a comparison
 * of revisions finds changes whose announcement was lost.
 */
export class OwnEnvironments {
  readonly #deps: OwnEnvironmentsDeps
  readonly #worker: Worker
  #seen = new Map<string, number>()

  constructor(deps: OwnEnvironmentsDeps) {
    this.#deps = deps
    this.#worker = new Worker({
      clock: deps.clock,
      everyMs: lookEveryMs,
      pass: async () => deps.wake(await this.#changed()),
      failed: (error) => deps.log.warn({ err: error }, 'changed environments cannot be listed; retrying'),
    })
  }

  async start(): Promise<void> {
    if (!this.#deps.scope) return
    await this.#changed()
    this.#worker.start()
  }

  stop(): Promise<void> {
    return this.#worker.stop()
  }

  /** Wakes the ones among `appEnvIds` that this machine runs. */
  wake(appEnvIds: readonly string[]): void {
    const { scope, has, wake } = this.#deps
    const known = scope ? appEnvIds.filter((appEnvId) => has(appEnvId)) : appEnvIds
    wake(known)
    if (!scope || scope.regions.length === 0 || known.length === appEnvIds.length) return
    const others = appEnvIds.filter((appEnvId) => !known.includes(appEnvId))
    // If it fails, the next comparison finds them.
    this.#among(others, scope).then(wake, () => {})
  }

  async #among(appEnvIds: readonly string[], { regions }: MachineScope): Promise<string[]> {
    return [...(await this.#deps.db.read((tx) => listRevisionsIn(tx, regions, appEnvIds))).keys()]
  }

  /** Those that were made, changed or deleted since the last call. */
  async #changed(): Promise<string[]> {
    const before = this.#seen
    const now = await this.#deps.db.read((tx) => listRevisionsIn(tx, this.#deps.scope?.regions ?? []))
    this.#seen = now
    const changed = [...now].filter(([appEnvId, revision]) => before.get(appEnvId) !== revision)
    const deleted = [...before.keys()].filter((appEnvId) => !now.has(appEnvId))
    return [...changed.map(([appEnvId]) => appEnvId), ...deleted]
  }
}
