import { createHash } from 'node:crypto'
import type { JournalOutcome } from '../contract/audit.ts'
import { newId } from '../domain/ids.ts'
import type { Tables, Tx } from './db.ts'
import { findHead, type JournalHead, saveHead } from './journal-heads.ts'
import type { SecretBox } from './secret-box.ts'

export interface JournalEntry {
  at: string
  /** Null for what belongs to no account, such as a user's own tokens. */
  accountId: string | null
  principal: string
  surface: string
  operation: string
  objectType: string
  objectId: string
  outcome: JournalOutcome
  /** The object before and after; secrets are sealed in it, as in the object's own row. */
  before: unknown
  after: unknown
}

export type StoredJournalEntry = JournalEntry & { entryId: string }

type Row = Tables['journal']

/**
 * Appends inside the caller's transaction: an acknowledged write has its entry. Each entry holds the hash of the
 * one before it in the same account, so a changed or removed entry breaks the chain of its account; the head of
 * the chain is sealed (journal-heads.ts).
 */
export async function insertJournalEntry(tx: Tx, entry: JournalEntry, secrets: SecretBox): Promise<string> {
  const head = (await findHead(tx, entry.accountId, secrets)) ?? (await unkeptHead(tx, entry.accountId))
  const last = await tx
    .selectFrom('journal')
    .select((e) => e.fn.max('seq').as('seq'))
    .executeTakeFirst()
  const row: Row = {
    seq: Number(last?.seq ?? 0) + 1,
    entry_id: newId('aud'),
    at: entry.at,
    account_id: entry.accountId,
    principal: entry.principal,
    surface: entry.surface,
    operation: entry.operation,
    object_type: entry.objectType,
    object_id: entry.objectId,
    before: JSON.stringify(entry.before ?? null),
    after: JSON.stringify(entry.after ?? null),
    outcome: entry.outcome,
    previous_hash: head.hash,
    hash: '',
  }
  row.hash = hashOfEntry(row)
  await tx.insertInto('journal').values(row).execute()
  await saveHead(tx, entry.accountId, { ...head, entries: head.entries + 1, hash: row.hash }, secrets)
  return row.entry_id
}

/** Where a chain ends that no head is kept for: a new one, or one that an older version began. */
async function unkeptHead(tx: Tx, accountId: string | null): Promise<JournalHead> {
  const own = tx.selectFrom('journal').where('account_id', accountId === null ? 'is' : '=', accountId)
  const last = await own.select('hash').orderBy('seq', 'desc').limit(1).executeTakeFirst()
  if (!last) return { entries: 0, hash: '', entriesBefore: 0 }
  const counted = await own.select((e) => e.fn.countAll().as('entries')).executeTakeFirstOrThrow()
  const entries = Number(counted.entries)
  return { entries, hash: last.hash, entriesBefore: entries }
}

/** Sealed values count as sealed, not by their bytes: a new data key re-seals them and breaks no chain. */
const sealedValue = /"v1\.key_[a-z2-7]+\.[A-Za-z0-9_-]+"/g

/** SHA-256 over everything an entry says, and over the hash of the entry before it. */
export function hashOfEntry(row: Omit<Row, 'hash' | 'seq'>): string {
  const said = [
    row.previous_hash,
    row.entry_id,
    row.at,
    row.account_id,
    row.principal,
    row.surface,
    row.operation,
    row.object_type,
    row.object_id,
    row.outcome,
    row.before.replace(sealedValue, '"sealed"'),
    row.after.replace(sealedValue, '"sealed"'),
  ]
  return createHash('sha256').update(JSON.stringify(said)).digest('hex')
}

/** Newest first; `before` is the entry id that the last page ended with. */
export async function listJournal(
  tx: Tx,
  of: { accountId: string; objectId?: string | undefined },
  page: { limit: number; before: string | null },
): Promise<StoredJournalEntry[]> {
  let query = tx.selectFrom('journal').selectAll().where('account_id', '=', of.accountId)
  if (of.objectId !== undefined) query = query.where('object_id', '=', of.objectId)
  if (page.before !== null) {
    // The entry must be of this account: a cursor tells nothing of what others do.
    query = query.where('seq', '<', (inner) =>
      inner
        .selectFrom('journal as known')
        .select('known.seq')
        .where('known.entry_id', '=', page.before as string)
        .where('known.account_id', '=', of.accountId),
    )
  }
  const rows = await query.orderBy('seq', 'desc').limit(page.limit).execute()
  return rows.map(entryOf)
}

export async function findJournalEntry(tx: Tx, entryId: string): Promise<StoredJournalEntry | null> {
  const row = await tx.selectFrom('journal').selectAll().where('entry_id', '=', entryId).executeTakeFirst()
  return row ? entryOf(row) : null
}

function entryOf(row: Row): StoredJournalEntry {
  return {
    entryId: row.entry_id,
    at: row.at,
    accountId: row.account_id,
    principal: row.principal,
    surface: row.surface,
    operation: row.operation,
    objectType: row.object_type,
    objectId: row.object_id,
    outcome: row.outcome as JournalOutcome,
    before: JSON.parse(row.before),
    after: JSON.parse(row.after),
  }
}
