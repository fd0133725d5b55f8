import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import { saveLastRequests } from '../../store/repositories/last-requests.ts'
import { Worker } from '../../worker.ts'

/** How often the last request of an environment is stored while it serves. */
const storeAfterMs = 60_000

/** Stores when environments last answered a request: at once for the first one, then at most once a minute. */
export class LastRequests {
  readonly #db: Db
  readonly #clock: Clock
  readonly #stored = new Map<string, number>()
  readonly #waiting = new Map<string, number>()
  readonly #worker: Worker

  constructor({ db, clock, log }: { db: Db; clock: Clock; log: Log }) {
    this.#db = db
    this.#clock = clock
    this.#worker = new Worker({
      clock,
      pass: () => this.#store(),
      failed: (error) => log.warn({ err: error }, 'last requests cannot be stored; retrying'),
    })
  }

  note(appEnvId: string): void {
    const nowMs = this.#clock.wallMs()
    if (nowMs - (this.#stored.get(appEnvId) ?? -Infinity) < storeAfterMs) return
    this.#stored.set(appEnvId, nowMs)
    this.#waiting.set(appEnvId, nowMs)
    this.#worker.wake()
  }

  forget(appEnvId: string): void {
    this.#stored.delete(appEnvId)
  }

  stop(): Promise<void> {
    return this.#worker.stop()
  }

  async #store(): Promise<void> {
    const noted = [...this.#waiting]
    if (noted.length === 0) return
    await this.#db.write((tx) => saveLastRequests(tx, noted, this.#clock.wallMs()))
    for (const [appEnvId, atMs] of noted) {
      if (this.#waiting.get(appEnvId) === atMs) this.#waiting.delete(appEnvId)
    }
  }
}
