import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { AppError } from '../errors.ts'
import type { Db, Tables, Tx } from './db.ts'
import type { SecretBox } from './secrets/secret-box.ts'
import { type ChainReport, verifyAudit } from './verify-audit.ts'

const pageSize = 500

interface CopyReport {
  tables: number
  rows: number
  /** The audit chains, identical on both sides. */
  chains: ChainReport[]
}

/**
 * Copies every row of an embedded store into an empty PostgreSQL store in one transaction. Throws `AppError` if the
 * target is not empty, if a chain of the audit log is broken, or if the copy differs from the source.
 */
export async function copyStore(source: Db, target: Db, secrets: SecretBox): Promise<CopyReport> {
  const names = await source.read(tablesOf)
  const { chains } = await source.read((tx) => verifyAudit(tx, [], secrets))
  const broken = chains.find((chain) => chain.broken)
  if (broken) {
    throw new AppError('conflict', 'The audit log of the source is damaged', {
      details: `${broken.broken?.entryId}: ${broken.broken?.why}. See longshore audit verify; nothing was copied.`,
    })
  }
  return target.write(async (tx) => {
    await requireEmpty(tx, names)
    let rows = 0
    for (const name of names) rows += await copyTable(source, tx, name)
    await sql`select setval(pg_get_serial_sequence('audit_log', 'seq'), coalesce(max(seq), 0) + 1, false)
      from audit_log`.execute(tx)
    const copied = await verifyAudit(tx, [], secrets)
    const byAccount = (a: ChainReport, b: ChainReport) => ((a.accountId ?? '') < (b.accountId ?? '') ? -1 : 1)
    if (!isDeepStrictEqual([...copied.chains].sort(byAccount), [...chains].sort(byAccount))) {
      throw new Error('the audit log of the copy differs from its source; nothing was stored')
    }
    return { tables: names.length, rows, chains }
  })
}

async function tablesOf(tx: Tx): Promise<(keyof Tables)[]> {
  const tables = await tx.introspection.getTables()
  return tables.map(({ name }) => name as keyof Tables).filter((name) => (name as string) !== 'migrations')
}

async function requireEmpty(tx: Tx, names: readonly (keyof Tables)[]): Promise<void> {
  for (const name of names) {
    const { rows } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(tx)
    if (rows.length === 0) continue
    throw new AppError('conflict', 'The target is not empty', {
      details: `Its table ${name} has rows. Copy into a new database; nothing was changed.`,
    })
  }
}

/** Copies page by page, so that a large table needs little memory. Resolves to the number of rows. */
async function copyTable(source: Db, target: Tx, name: keyof Tables): Promise<number> {
  let copied = 0
  for (let after = 0; ; ) {
    const page = await source.read((tx) =>
      sql<{ copy_position: number }>`select rowid as copy_position, * from ${sql.table(name)}
        where rowid > ${after} order by rowid limit ${pageSize}`.execute(tx),
    )
    const rows = page.rows.map(({ copy_position: _, ...row }) => row)
    if (rows.length > 0)
      await target
        .insertInto(name)
        .values(rows as never)
        .execute()
    copied += rows.length
    if (rows.length < pageSize) break
    after = page.rows.at(-1)?.copy_position ?? after
  }
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(name)}`.execute(
    target,
  )
  if (Number(rows[0]?.count) !== copied)
    throw new Error(`the copy of ${name} is incomplete; nothing was stored`)
  return copied
}
