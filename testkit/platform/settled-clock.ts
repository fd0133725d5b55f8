import { TestClock } from '../fakes/clock.ts'
import { FaultyDb } from '../fakes/faulty-db.ts'
import type { TestPlatform } from './test-platform.ts'

const stepMs = 200
/** A health check over loopback takes a few turns of the event loop, however slow the machine is. */
const turnsOfRest = 25
const patienceMs = 120_000

/**
 * Moves the clock of a platform only while the platform rests. So a slow store, disk or CPU adds nothing to the time
 * that a test measures on the clock.
 */
export class SettledClock {
  readonly clock = new TestClock()
  #db!: FaultyDb
  #platform!: TestPlatform

  /** For `TestPlatform.start`: tracks the transactions in progress. */
  readonly wrapDb = (db: ConstructorParameters<typeof FaultyDb>[0]): FaultyDb => {
    this.#db = new FaultyDb(db)
    return this.#db
  }

  drive(platform: TestPlatform): void {
    this.#platform = platform
  }

  /** Resolves when the reconciler has no pass to make and for some turns of the event loop no transaction begins. */
  async settled(): Promise<void> {
    for (let seen = -1; seen !== this.#db.transactions || this.#db.busy > 0; ) {
      seen = this.#db.transactions
      await this.#platform.reconciler?.settled()
      for (let turn = 0; turn < turnsOfRest; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  async advance(ms: number): Promise<void> {
    await this.settled()
    for (let leftMs = ms; leftMs > 0; leftMs -= stepMs) {
      await this.clock.advance(Math.min(stepMs, leftMs))
      await this.settled()
    }
  }

  /** Moves the clock until the check holds; returns the milliseconds of the clock that this took. */
  async passed(holds: () => boolean | Promise<boolean>, what: string): Promise<number> {
    const startMs = this.clock.monotonicMs()
    const endMs = performance.now() + patienceMs
    await this.settled()
    while (!(await holds())) {
      if (performance.now() > endMs) throw new Error(`it never came about: ${what}`)
      await this.clock.advance(stepMs)
      await this.settled()
    }
    return this.clock.monotonicMs() - startMs
  }
}
