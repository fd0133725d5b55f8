import path from 'node:path'
import { inject } from 'vitest'
import { Secret } from '../../src/log.ts'
import type { Db } from '../../src/store/db.ts'
import { openPostgresDb } from '../../src/store/postgres/db.ts'
import { openSqliteDb } from '../../src/store/sqlite/db.ts'
import { type PostgresAccess, PostgresServer } from './postgres-server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The server of the run with TEST_STORE=postgres; null: tests use SQLite. */
    postgres: PostgresAccess | null
  }
}

/**
 * A new store for one platform: SQLite in `dir`, or a database of its own with TEST_STORE=postgres. With
 * TEST_WRITES=twice each write runs twice, as after a conflict: nothing of the first run may be left.
 */
export async function openTestStore(dir: string): Promise<{ db: Db; remove: () => Promise<void> }> {
  const { db, remove } = await openPlainStore(dir)
  if (process.env.TEST_WRITES === 'twice') {
    const write = db.write.bind(db)
    db.write = async (work) => {
      await db.rehearse(work).catch(() => {})
      return write(work)
    }
  }
  return { db, remove }
}

async function openPlainStore(dir: string): Promise<{ db: Db; remove: () => Promise<void> }> {
  // Benches use the same platform outside of the test runner.
  const access = process.env.VITEST ? inject('postgres') : null
  if (!access) return { db: await openSqliteDb(path.join(dir, 'longshore.db')), remove: async () => {} }
  const server = PostgresServer.at(access)
  const { name, url } = await server.createDatabase(access.template)
  return {
    db: await openPostgresDb({ url, poolSize: 10 }),
    remove: () => server.dropDatabase(name),
  }
}

/** Makes a database with all tables, that others are copied from. */
export async function makeTemplate(server: PostgresServer): Promise<string> {
  const { name, url } = await server.createDatabase()
  const db = await openPostgresDb({ url: new Secret(url.reveal()), poolSize: 1 })
  await db.close()
  return name
}
