import { randomBytes } from 'node:crypto'
import { HandleEmptyInListsPlugin, Kysely, replaceWithNoncontingentExpression, sql } from 'kysely'
import type { Log, Secret } from '../../log.ts'
import type { Db, Tables, Tx } from '../db.ts'
import { busy, codeOf, startProblem, triesWorth } from './errors.ts'
import { joinMachine, sessionName } from './join-machine.ts'
import { PostgresMembership } from './membership.ts'
import { createDialect } from './pool.ts'
import { prepareSchema } from './schema.ts'
import { Session } from './session.ts'
import { TransactionGate } from './transaction-gate.ts'
import { type PostgresAddress, readPostgresUrl } from './url.ts'

export interface PostgresOptions {
  url: Secret
  /** Connections for transactions; a control plane uses two more. */
  poolSize: number
}

/**
 * Opens a PostgreSQL database and brings its tables up to date. Write transactions are serializable and run again
 * after a conflict; a read is one snapshot. Throws `AppError` with the remedy.
 */
export async function openPostgresDb({ url, poolSize }: PostgresOptions): Promise<Db> {
  return openAt(readPostgresUrl(url.reveal()), `longshore ${process.pid}`, poolSize)
}

/** Like `openPostgresDb`, while no control plane serves the database and none can start. */
export async function openPostgresAlone({ url, poolSize }: PostgresOptions): Promise<Db> {
  const address = readPostgresUrl(url.reveal())
  const session = new Session(address, 'longshore copy', 'copies')
  try {
    await session.connect()
    const db = await openAt(address, 'longshore copy', poolSize)
    return {
      read: (work) => db.read(work),
      write: (work) => db.write(work),
      rehearse: (work) => db.rehearse(work),
      close: () => db.close().finally(() => session.close()),
    }
  } catch (error) {
    await session.close()
    throw startProblem(error, address.label)
  }
}

interface ControlPlaneOptions extends PostgresOptions {
  /** Name of this machine. */
  node: string
  /** Host and data directory of this process, which holds the lock of the directory. */
  place: string
  log: Log
  /** Called if another control plane took over this machine's name: this one must stop. */
  onReplaced: (reason: string) => void
}

/** Opens the database for a control plane, one of several. Throws `AppError` with the remedy. */
export async function joinPostgres(
  options: ControlPlaneOptions,
): Promise<{ db: Db; membership: PostgresMembership }> {
  const { url, poolSize, node, place, log, onReplaced } = options
  const address = readPostgresUrl(url.reveal())
  const instanceId = randomBytes(12).toString('hex')
  let membership: PostgresMembership | null = null
  const session = new Session(address, sessionName(instanceId), 'serves', (payload) =>
    membership?.heard(payload),
  )
  let db: Db | null = null
  try {
    // Before the migrations: an installation may be copied into the database just now.
    await session.connect()
    db = await openAt(address, sessionName(instanceId), poolSize)
    const machineLease = await joinMachine(session, { node, place, instanceId })
    membership = new PostgresMembership({ session, db, log, node, instanceId, machineLease, onReplaced })
    await membership.join()
    return { db, membership }
  } catch (error) {
    await Promise.all([session.close(), db?.close()])
    throw startProblem(error, address.label)
  }
}

async function openAt(address: PostgresAddress, name: string, poolSize: number): Promise<Db> {
  const kysely = new Kysely<Tables>({
    dialect: createDialect(address, name, poolSize),
    plugins: [emptyLists()],
  })
  try {
    await prepareSchema(kysely, address.label)
  } catch (error) {
    await kysely.destroy()
    throw startProblem(error, address.label)
  }
  return new PostgresDb(kysely)
}

/** `in ()` matches nothing; SQLite takes it as it is, PostgreSQL calls it a syntax error. */
const emptyLists = () => new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })

const beginRead = sql`start transaction isolation level repeatable read read only`
const beginWrite = sql`start transaction isolation level serializable`
const commit = sql`commit`
const rollback = sql`rollback`

/** Longest pause before the second attempt, in milliseconds; doubles with each attempt. */
const firstPauseMs = 4
const longestPauseMs = 250

class PostgresDb implements Db {
  readonly #kysely: Kysely<Tables>
  readonly #gate = new TransactionGate()

  constructor(kysely: Kysely<Tables>) {
    this.#kysely = kysely
  }

  read<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#kysely.connection().execute((tx) => transaction(tx, beginRead, work, commit))
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#repeated(work, commit)
  }

  rehearse<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#repeated(work, rollback)
  }

  close(): Promise<void> {
    return this.#kysely.destroy()
  }

  async #repeated<T>(work: (tx: Tx) => Promise<T>, end: typeof commit): Promise<T> {
    const attempt = () => this.#kysely.connection().execute((tx) => transaction(tx, beginWrite, work, end))
    for (let tries = 1; ; tries += 1) {
      try {
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
  end: typeof commit,
): Promise<T> {
  await begin.execute(tx)
  let value: T
  try {
    value = await work(tx)
  } catch (error) {
    // A connection that cannot roll back is lost, and the server rolls back automatically.
    await rollback.execute(tx).catch(() => {})
    throw error
  }
  await end.execute(tx)
  return value
}
