import path from 'node:path'
import { readConfig } from '../../config/config.ts'
import { AppError } from '../../errors.ts'
import { Secret } from '../../log.ts'
import { copyStore } from '../../store/copy.ts'
import { lockHome, openHome, requireHome } from '../../store/data-directory.ts'
import { openPostgresAlone } from '../../store/postgres/db.ts'
import { readMasterKey } from '../../store/secrets/master-key.ts'
import { openSecretBox, parseMasterKey } from '../../store/secrets/secret-box.ts'
import { openSqliteDb } from '../../store/sqlite/db.ts'

export interface StoreCopyOptions {
  from: string | undefined
  to: string | undefined
}

/** `longshore store copy`: from SQLite to PostgreSQL; resolves to the exit code. */
export async function runStoreCopy(options: StoreCopyOptions, env: NodeJS.ProcessEnv): Promise<number> {
  const config = readConfig(env)
  const url = options.to === undefined ? config.databaseUrl : new Secret(options.to)
  if (!url) {
    throw new AppError('invalid', 'The target database is missing', {
      details: 'Give --to, or set LONGSHORE_DATABASE_URL.',
    })
  }
  const from = options.from === undefined ? config.home : path.resolve(options.from)
  requireHome(from)
  const unlock = lockHome(from)
  try {
    await copyHome(from, url, config.masterKey)
    return 0
  } finally {
    unlock()
  }
}

async function copyHome(from: string, url: Secret, given: Secret | undefined): Promise<void> {
  const home = openHome(from)
  const master = given ? parseMasterKey(given) : readMasterKey(home.masterKey)
  const source = await openSqliteDb(home.database)
  try {
    const secrets = await openSecretBox(source, master, new Date().toISOString())
    // No control plane may start on a partly copied database.
    const target = await openPostgresAlone({ url, poolSize: 1 })
    try {
      const { tables, rows, chains } = await copyStore(source, target, secrets)
      const entries = chains.reduce((sum, chain) => sum + chain.entries, 0)
      process.stderr.write(
        `Copied ${rows} rows of ${tables} tables. The audit log is whole on both sides (${entries} entries).\n` +
          `Logs, metrics, uploads and backups stay in ${from}. Start the platform with LONGSHORE_HOME=${from}, LONGSHORE_DATABASE_URL, and LONGSHORE_MASTER_KEY set to the master key of that directory.\n`,
      )
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}
