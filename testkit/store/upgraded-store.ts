import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import Database from 'libsql'
import type { Db } from '../../src/store/db.ts'
import { migrations } from '../../src/store/migrations/index.ts'
import { openSqliteDb } from '../../src/store/sqlite/db.ts'

/** A store of the version before a migration, in which a statement ran, opened by this version. */
export async function upgradedStore(
  migration: string,
  statement: string,
): Promise<{ db: Db; remove: () => Promise<void> }> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-migration-'))
  const file = path.join(dir, 'longshore.db')
  const old = new Database(file)
  old.exec('create table migrations (number integer primary key, name text not null)')
  const before = migrations.slice(
    0,
    migrations.findIndex(({ name }) => name === migration),
  )
  for (const [index, { name, statements }] of before.entries()) {
    for (const one of statements) old.exec(one)
    old.prepare('insert into migrations (number, name) values (?, ?)').run(index + 1, name)
  }
  old.exec(statement)
  old.close()
  const db = await openSqliteDb(file)
  return {
    db,
    async remove() {
      await db.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
