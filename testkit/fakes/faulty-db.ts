import { AppError } from '../../src/errors.ts'
import type { Db, Tx } from '../../src/store/db.ts'

/** `rolled-back`: the commit fails. `answer-lost`: it succeeds, but the caller gets an error. */
export type Fault = 'rolled-back' | 'answer-lost'

/** Tables of heartbeats: their writes depend on time and not on the scenario. */
const heartbeats = ['installation', 'token_uses']

/** A store whose nth changing write fails: once, or again after as many more. */
export class FaultyDb implements Db {
  readonly #db: Db
  fault: Fault = 'rolled-back'
  #writesLeft = Number.POSITIVE_INFINITY
  #every = Number.POSITIVE_INFINITY
  /** How many writes failed since it was armed. */
  failures = 0
  /** The changes of the write that failed; null if none failed. */
  failed: string | null = null
  /** Carries out every transaction twice, as a store does that repeats one after a conflict. */
  repeats = false

  /** Transactions in progress. */
  busy = 0
  /** Transactions so far. */
  transactions = 0

  constructor(db: Db) {
    this.#db = db
  }

  /** The write number `nth` from now on, the first being 1, fails, and after it each `every`th. */
  arm(nth: number, fault: Fault, every = Number.POSITIVE_INFINITY): void {
    this.#writesLeft = nth
    this.#every = every
    this.failures = 0
    this.fault = fault
    this.failed = null
  }

  disarm(): void {
    this.#writesLeft = Number.POSITIVE_INFINITY
  }

  read<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#counted(this.#db.read(work))
  }

  rehearse<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#db.rehearse(work)
  }

  close(): Promise<void> {
    return this.#db.close()
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#counted(this.#write(work))
  }

  async #counted<T>(work: Promise<T>): Promise<T> {
    this.busy += 1
    this.transactions += 1
    try {
      return await work
    } finally {
      this.busy -= 1
    }
  }

  async #write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.repeats) await this.#db.rehearse(work)
    let isLost = false
    const value = await this.#db.write(async (tx) => {
      const changed = new Set<string>()
      const result = await work(watched(tx, changed))
      const tables = [...changed].filter((table) => !heartbeats.includes(table))
      if (tables.length === 0 || --this.#writesLeft !== 0) return result
      this.failed = tables.join(', ')
      this.failures += 1
      this.#writesLeft = this.#every
      if (this.fault === 'rolled-back') throw storeAway()
      isLost = true
      return result
    })
    if (isLost) throw storeAway()
    return value
  }
}

function storeAway(): AppError {
  return new AppError('unavailable', 'The store cannot be written', {
    details: 'A test said so.',
    retryAfterSeconds: 5,
  })
}

/** Notes the tables whose rows are changed through it. */
function watched(tx: Tx, changed: Set<string>): Tx {
  return new Proxy(tx, {
    get: (target, name) => {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (/^(insertInto|updateTable|deleteFrom)$/.test(String(name))) changed.add(String(args[0]))
        return value.apply(target, args)
      }
    },
  })
}
