import { existsSync } from 'node:fs'
import { AppError } from '../errors.ts'
import type { Secret } from '../log.ts'
import type { Home } from './data-directory.ts'
import type { Db } from './db.ts'
import { openSqliteDb } from './sqlite/db.ts'

/**
 * The storage of an installation's rows: PostgreSQL if `databaseUrl` is set, otherwise the file in the data
 * directory.
 */
interface StoreSettings {
  databaseUrl: Secret | undefined
  /** Connections to PostgreSQL. */
  databasePool: number
  masterKey: Secret | undefined
}

/**
 * Opens the store. The control plane passes `onReplaced`, which is called if another control plane took over the
 * database: this one must then stop. Throws `AppError` with the remedy.
 */
export async function openStore(
  settings: StoreSettings,
  home: Pick<Home, 'database'>,
  onReplaced?: (reason: string) => void,
): Promise<Db> {
  const { databaseUrl: url, databasePool: poolSize, masterKey } = settings
  if (!url) return openSqliteDb(home.database)
  if (!masterKey) {
    throw new AppError('invalid', 'LONGSHORE_DATABASE_URL needs LONGSHORE_MASTER_KEY', {
      details:
        'With a shared database set the master key yourself: 32 bytes as 64 hex digits, such as from `openssl rand -hex 32`.',
    })
  }
  // Imported here, so that the embedded store starts without it.
  const { openPostgresDb } = await import('./postgres/db.ts')
  return openPostgresDb({ url, poolSize, ...(onReplaced ? { onReplaced } : {}) })
}

/** Whether there may be an installation to read: a PostgreSQL database, or the file in the data directory. */
export function hasStore({ databaseUrl }: StoreSettings, home: Pick<Home, 'database'>): boolean {
  return databaseUrl !== undefined || existsSync(home.database)
}

/** Why the store cannot be used, with the remedy; null if it can. */
export async function storeProblem(db: Db): Promise<string | null> {
  try {
    await db.read((tx) => tx.selectFrom('installation').select('key').limit(1).execute())
    return null
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return `${error.message}: ${error.details ?? 'try again later.'}`
  }
}
