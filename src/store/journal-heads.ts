import type { Tx } from './db.ts'
import type { SecretBox } from './secret-box.ts'

/**
 * How far the journal of an account goes. It is kept sealed, apart from the entries: whoever can write the store
 * but has not the master key can cut entries off, or hash a whole chain anew, but not seal the head that fits.
 */
export interface JournalHead {
  entries: number
  /** Of the newest entry. */
  hash: string
  /** This many entries were there when the head was first kept: 0, unless an older version wrote them. */
  entriesBefore: number
}

/** The chain of what belongs to no account. */
const noAccount = 'none'

const boundTo = (id: string) => `${id}/head`

/** Null when none is kept, or it does not open. */
export async function findHead(
  tx: Tx,
  accountId: string | null,
  secrets: SecretBox,
): Promise<JournalHead | null> {
  const id = accountId ?? noAccount
  const row = await tx.selectFrom('journal_heads').selectAll().where('account_id', '=', id).executeTakeFirst()
  return row ? opened(row, secrets) : null
}

/** Every head by account; null in place of one that does not open. */
export async function listHeads(tx: Tx, secrets: SecretBox): Promise<Map<string | null, JournalHead | null>> {
  const rows = await tx.selectFrom('journal_heads').selectAll().execute()
  return new Map(
    rows.map((row) => [row.account_id === noAccount ? null : row.account_id, opened(row, secrets)]),
  )
}

export async function saveHead(
  tx: Tx,
  accountId: string | null,
  head: JournalHead,
  secrets: SecretBox,
): Promise<void> {
  const id = accountId ?? noAccount
  const record = JSON.stringify({ head: secrets.seal(JSON.stringify(head), boundTo(id)) })
  await tx
    .insertInto('journal_heads')
    .values({ account_id: id, record })
    .onConflict((conflict) => conflict.column('account_id').doUpdateSet({ record }))
    .execute()
}

function opened(row: { account_id: string; record: string }, secrets: SecretBox): JournalHead | null {
  try {
    return JSON.parse(secrets.open(JSON.parse(row.record).head, boundTo(row.account_id)))
  } catch {
    return null
  }
}
