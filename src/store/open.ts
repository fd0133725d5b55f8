import { existsSync } from 'node:fs'
import os from 'node:os'
import type { Clock } from '../clock.ts'
import { AppError } from '../errors.ts'
import type { Log, Secret } from '../log.ts'
import type { Home } from './data-directory.ts'
import type { Db, Tx } from './db.ts'
import { type Membership, soleMembership } from './membership.ts'
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

/** Opens the store for a command. Throws `AppError` with the remedy. */
export async function openStore(settings: StoreSettings, home: Pick<Home, 'database'>): Promise<Db> {
  const { databaseUrl: url, databasePool: poolSize } = settings
  if (!url) return openSqliteDb(home.database)
  requireMasterKey(settings)
  // Imported here, so that the embedded store starts without it.
  const { openPostgresDb } = await import('./postgres/db.ts')
  return openPostgresDb({ url, poolSize })
}

/** Opens the store for a control plane. `onReplaced`: another one took over this machine's name. */
export async function joinStore(
  settings: StoreSettings & { node: string },
  home: Pick<Home, 'database' | 'dir'>,
  options: { clock: Clock; log: Log; onReplaced: (reason: string) => void },
): Promise<{ db: Db; membership: Membership }> {
  const { databaseUrl: url, databasePool: poolSize, node } = settings
  const { clock, log, onReplaced } = options
  if (!url) {
    const db = await openSqliteDb(home.database)
    return { db, membership: soleMembership(db, node, () => clock.wallMs()) }
  }
  requireMasterKey(settings)
  const { joinPostgres } = await import('./postgres/db.ts')
  const place = `${os.hostname()}:${home.dir}`
  return joinPostgres({ url, poolSize, node, place, log, onReplaced })
}

function requireMasterKey({ masterKey }: StoreSettings): void {
  if (masterKey) return
  throw new AppError('invalid', 'LONGSHORE_DATABASE_URL needs LONGSHORE_MASTER_KEY', {
    details:
      'With a shared database set the master key yourself: 32 bytes as 64 hex digits, such as from `openssl rand -hex 32`.',
  })
}

/** Whether there may be an installation to read: a PostgreSQL database, or the file in the data directory. */
export function hasStore({ databaseUrl }: StoreSettings, home: Pick<Home, 'database'>): boolean {
  return databaseUrl !== undefined || existsSync(home.database)
}

/** Why the store cannot be used, with the remedy; null if it can. A shared one must also take writes. */
export async function storeProblem(db: Db, isShared: boolean): Promise<string | null> {
  try {
    await (isShared ? db.rehearse(changeNothing) : db.read(readOne))
    return null
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return `${error.message}: ${error.details ?? 'try again later.'}`
  }
}

const readOne = (tx: Tx) => tx.selectFrom('installation').select('key').limit(1).execute()

/** A replica refuses it although no row has the key. */
const changeNothing = (tx: Tx) =>
  tx.updateTable('installation').set({ value: '' }).where('key', '=', 'readiness').execute()
