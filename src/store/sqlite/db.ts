import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs'
import { Kysely } from 'kysely'
import Database from 'libsql'
import { AppError } from '../../errors.ts'
import type { Db, Tables, Tx } from '../db.ts'
import { migrate } from '../migrate.ts'
import { EmbeddedDialect } from './driver.ts'

class Rollback extends Error {}

/** Opens or creates the embedded database; every commit is synced to disk before its promise resolves. */
export async function openSqliteDb(file: string): Promise<Db> {
  keepToOwner(file)
  const kysely = new Kysely<Tables>({ dialect: new EmbeddedDialect(() => connect(file)) })
  await migrate(kysely)
  return createDb(kysely, async () => {
    await kysely.destroy()
  })
}

/**
 * SQLite gives the files next to the database the mode of the database file, so set that mode, whatever the folder's.
 */
function keepToOwner(file: string): void {
  closeSync(openSync(file, 'a', 0o600))
  for (const one of [file, `${file}-wal`, `${file}-shm`]) {
    if (existsSync(one) && (statSync(one).mode & 0o077) !== 0) chmodSync(one, 0o600)
  }
}

function connect(file: string): Database.Database {
  const database = new Database(file)
  // Short, because it blocks the event loop; the caller retries the transaction.
  database.pragma('busy_timeout = 100')
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  return database
}

function createDb(kysely: Kysely<Tables>, close: () => Promise<void>): Db {
  const write: Db['write'] = (work) => translated(() => kysely.transaction().execute(work))
  return {
    // Holds the only connection alone, so that it reads one snapshot.
    read: (work) => translated(() => kysely.connection().execute(work)),
    write,
    async rehearse<T>(work: (tx: Tx) => Promise<T>) {
      let answer: { value: T } | undefined
      try {
        await write(async (tx) => {
          answer = { value: await work(tx) }
          throw new Rollback()
        })
      } catch (error) {
        if (!(error instanceof Rollback) || !answer) throw error
      }
      return (answer as { value: T }).value
    },
    close,
  }
}

const awayCodes = [
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_BUSY',
  'SQLITE_READONLY',
  'SQLITE_CANTOPEN',
  'SQLITE_NOMEM',
]

/** A full disk or a failing device is a temporary outage, not a bug. */
async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = (error as { code?: unknown }).code
    if (typeof code === 'string' && awayCodes.some((away) => code.startsWith(away))) {
      throw new AppError('unavailable', 'The store cannot be written', {
        details: 'The disk may be full or failing; nothing was changed. Try again later.',
        retryAfterSeconds: 5,
        cause: error,
      })
    }
    throw error
  }
}
