import { Kysely, sql } from 'kysely'
import type { Secret } from '../../log.ts'
import type { Db, Tables, Tx } from '../db.ts'
import { busy, codeOf, startProblem, triesWorth, unavailable } from './errors.ts'
import { InstanceLock } from './instance-lock.ts'
import { createDialect } from './pool.ts'
import { prepareSchema } from './schema.ts'
import { TransactionGate } from './transaction-gate.ts'
import { readPostgresUrl } from './url.ts'

export interface PostgresOptions {
  url: Secret
  /** Connections for transactions; the control plane's lock uses one more. */
  poolSize: number
  /**
   * Passed by the control plane, which then must be the only one of the database. Called if the connection was lost
   * and another control plane took over meanwhile; no write succeeds after that.
   */
  onReplaced?: (reason: string) => void
}

/**
 * Opens a PostgreSQL database and brings its tables up to date. Write transactions are serializable and run again
 * after a conflict; a read is one snapshot. Throws `AppError` with the remedy.
 */
export async function openPostgresDb({ url, poolSize, onReplaced }: PostgresOptions): Promise<Db> {
  const address = readPostgresUrl(url.reveal())
  const name = `longshore ${process.pid}`
  const kysely = new Kysely<Tables>({ dialect: createDialect(address, name, poolSize) })
  let lock: InstanceLock | null = null
  try {
    // Before the migrations: a newer control plane must not migrate while another one serves.
    if (onReplaced) lock = await InstanceLock.acquire(address, onReplaced)
    await prepareSchema(kysely, address.label)
  } catch (error) {
    await Promise.all([lock?.close(), kysely.destroy()])
    throw startProblem(error, address.label)
  }
  return new PostgresDb(kysely, lock)
}

const beginRead = sql`start transaction isolation level repeatable read read only`
const beginWrite = sql`start transaction isolation level serializable`
const commit = sql`commit`
const rollback = sql`rollback`

/** Longest pause before the second attempt, in milliseconds; doubles with each attempt. */
const firstPauseMs = 4
const longestPauseMs = 250

class PostgresDb implements Db {
  readonly #kysely: Kysely<Tables>
  readonly #lock: InstanceLock | null
  readonly #gate = new TransactionGate()

  constructor(kysely: Kysely<Tables>, lock: InstanceLock | null) {
    this.#kysely = kysely
    this.#lock = lock
  }

  read<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#kysely.connection().execute((tx) => transaction(tx, beginRead, work, () => commit))
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#repeated(work, () => {
      this.#requireLock()
      return commit
    })
  }

  rehearse<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#repeated(work, () => rollback)
  }

  async close(): Promise<void> {
    await this.#kysely.destroy()
    await this.#lock?.close()
  }

  /** While the lock's connection is lost, another control plane may serve, so this one must not write. */
  #requireLock(): void {
    if (this.#lock && !this.#lock.isHeld)
      throw unavailable(new Error('the lock of the control plane is lost'))
  }

  async #repeated<T>(work: (tx: Tx) => Promise<T>, end: () => typeof commit): Promise<T> {
    const attempt = () => this.#kysely.connection().execute((tx) => transaction(tx, beginWrite, work, end))
    for (let tries = 1; ; tries += 1) {
      try {
        this.#requireLock()
        return await this.#gate.take(tries > 1, attempt)
      } catch (error) {
        const worth = triesWorth(error)
        if (tries >= worth) throw worth > 1 && codeOf(error).startsWith('40') ? busy(error) : error
      }
      const pauseMs = Math.min(firstPauseMs * 2 ** tries, longestPauseMs) * Math.random()
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
}

async function transaction<T>(
  tx: Tx,
  begin: typeof commit,
  work: (tx: Tx) => Promise<T>,
  end: () => typeof commit,
): Promise<T> {
  await begin.execute(tx)
  let value: T
  let ending: typeof commit
  try {
    value = await work(tx)
    ending = end()
  } catch (error) {
    // A connection that cannot roll back is lost, and the server rolls back automatically.
    await rollback.execute(tx).catch(() => {})
    throw error
  }
  await ending.execute(tx)
  return value
}
