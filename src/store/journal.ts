import { newId } from '../domain/ids.ts'
import type { Tx } from './db.ts'

export interface JournalEntry {
  at: string
  accountId: string | null
  principal: string
  surface: string
  operation: string
  objectType: string
  objectId: string
  /** The object before and after; secrets are sealed in it, as in the object's own row. */
  before: unknown
  after: unknown
}

/** Appends inside the caller's transaction: an acknowledged write has its entry, a refused one has none. */
export async function insertJournalEntry(tx: Tx, entry: JournalEntry): Promise<string> {
  const entryId = newId('aud')
  const last = await tx
    .selectFrom('journal')
    .select((e) => e.fn.max('seq').as('seq'))
    .executeTakeFirst()
  await tx
    .insertInto('journal')
    .values({
      seq: Number(last?.seq ?? 0) + 1,
      entry_id: entryId,
      at: entry.at,
      account_id: entry.accountId,
      principal: entry.principal,
      surface: entry.surface,
      operation: entry.operation,
      object_type: entry.objectType,
      object_id: entry.objectId,
      before: JSON.stringify(entry.before ?? null),
      after: JSON.stringify(entry.after ?? null),
    })
    .execute()
  return entryId
}
