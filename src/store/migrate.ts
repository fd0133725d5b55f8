import { type Kysely, sql } from 'kysely'
import { AppError } from '../errors.ts'
import type { Tables } from './db.ts'
import { migrations } from './migrations/index.ts'

/** Brings the tables up to date, each migration in a transaction of its own. Newer tables than we know are refused. */
export async function migrate(kysely: Kysely<Tables>): Promise<void> {
  await sql`create table if not exists migrations (number integer primary key, name text not null)`.execute(
    kysely,
  )
  const done = await sql<{ number: number }>`select number from migrations order by number`.execute(kysely)
  const last = done.rows.at(-1)?.number ?? 0
  if (last > migrations.length) {
    throw new AppError('unavailable', 'This home was written by a newer Longshore', {
      details: `Its tables are at ${last}, this program knows ${migrations.length}. Start it with the newer program.`,
    })
  }
  for (const [index, migration] of migrations.entries()) {
    const number = index + 1
    if (number <= last) continue
    await kysely.transaction().execute(async (tx) => {
      for (const statement of migration.statements) await sql.raw(statement).execute(tx)
      await sql`insert into migrations (number, name) values (${number}, ${migration.name})`.execute(tx)
    })
  }
}
