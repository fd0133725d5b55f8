import { type Clock, timestamp } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import { noteTokenUse } from '../../store/repositories/tokens.ts'
import { Worker } from '../../worker.ts'

const storeAfterMs = 60_000

/**
 * When tokens were last used. Requests only note it in memory; a worker stores it at most once a minute, so a crash
 * loses at most the last minute.
 */
export class TokenUses {
  /** Uses that are not stored yet. */
  readonly #uses = new Map<string, string>()
  readonly #db: Db
  readonly #clock: Clock
  readonly #log: Log
  readonly #worker: Worker

  constructor({ db, clock, log }: { db: Db; clock: Clock; log: Log }) {
    this.#db = db
    this.#clock = clock
    this.#log = log
    this.#worker = new Worker({
      clock,
      retryMs: storeAfterMs,
      longestRetryMs: storeAfterMs,
      pass: () => this.#store(),
      failed: (error) => this.#failed(error),
    })
  }

  note(tokenId: string): void {
    this.#uses.set(tokenId, timestamp(this.#clock.wallMs()))
    this.#worker.wakeWithin(storeAfterMs)
  }

  /** The last use that is not stored yet. */
  latest(tokenId: string): string | null {
    return this.#uses.get(tokenId) ?? null
  }

  /** Stores the remaining uses; call it after the last request. Never throws. */
  async stop(): Promise<void> {
    await this.#worker.stop()
    await this.#store().catch((error) => this.#failed(error))
  }

  async #store(): Promise<void> {
    const uses = [...this.#uses]
    if (uses.length === 0) return
    await this.#db.write(async (tx) => {
      for (const [tokenId, usedAt] of uses) await noteTokenUse(tx, tokenId, usedAt)
    })
    for (const [tokenId, usedAt] of uses) {
      if (this.#uses.get(tokenId) === usedAt) this.#uses.delete(tokenId)
    }
  }

  #failed(error: unknown): void {
    this.#log.warn({ err: error }, 'last uses of tokens cannot be stored; retrying in a minute')
  }
}
