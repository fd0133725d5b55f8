import { type Kysely, sql } from 'kysely'
import { AppError } from '../errors.ts'
import type { Tables } from './db.ts'
import { migrations } from './migrations/index.ts'

/**
 * Brings the tables up to date, each migration in its own transaction. Rejects tables of a newer version. `inDialect`
 * translates a statement to the SQL of the store.
 */
export async function migrate(
  kysely: Kysely<Tables>,
  inDialect: (statement: string) => string = (statement) => statement,
): Promise<void> {
  const run = (on: Kysely<Tables>, statement: string) => sql.raw(inDialect(statement)).execute(on)
  await run(kysely, 'create table if not exists migrations (number integer primary key, name text not null)')
  const done = await sql<{ number: number }>`select number from migrations order by number`.execute(kysely)
  const last = done.rows.at(-1)?.number ?? 0
  if (last > migrations.length) {
    throw new AppError('unavailable', 'This store was written by a newer Longshore', {
      details: `Its tables are at ${last}, this program knows ${migrations.length}. Start it with the newer program.`,
    })
  }
  for (const [index, migration] of migrations.entries()) {
    const number = index + 1
    if (number <= last) continue
    await kysely.transaction().execute(async (tx) => {
      for (const statement of migration.statements) await run(tx, statement)
      await sql`insert into migrations (number, name) values (${number}, ${migration.name})`.execute(tx)
    })
  }
}
