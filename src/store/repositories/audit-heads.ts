import { z } from 'zod'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'
import type { SecretBox } from '../secrets/secret-box.ts'

const sealedRecord = recordReader<{ head: string }>('audit_heads', null, z.object({ head: z.string() }))
const headRecord = recordReader<AuditHead>('audit_heads', null, z.object({}))

/**
 * The length of an account's audit log, sealed and stored apart from the entries: an attacker with write access to
 * the store but without the master key can truncate or rehash a chain, but cannot seal a matching head.
 */
export interface AuditHead {
  entries: number
  /** Hash of the newest entry. */
  hash: string
  /** Number of entries when the head was first stored: 0, unless an older version wrote them. */
  entriesBefore: number
}

/** The chain of entries without an account. */
const noAccount = 'none'

const boundTo = (id: string) => `${id}/head`

/** Null if there is none, or if it cannot be opened. */
export async function findHead(
  tx: Tx,
  accountId: string | null,
  secrets: SecretBox,
): Promise<AuditHead | null> {
  const id = accountId ?? noAccount
  const row = await tx.selectFrom('audit_heads').selectAll().where('account_id', '=', id).executeTakeFirst()
  return row ? opened(row, secrets) : null
}

/** Every head by account; null for one that cannot be opened. */
export async function listHeads(tx: Tx, secrets: SecretBox): Promise<Map<string | null, AuditHead | null>> {
  const rows = await tx.selectFrom('audit_heads').selectAll().execute()
  return new Map(
    rows.map((row) => [row.account_id === noAccount ? null : row.account_id, opened(row, secrets)]),
  )
}

export async function saveHead(
  tx: Tx,
  accountId: string | null,
  head: AuditHead,
  secrets: SecretBox,
): Promise<void> {
  const id = accountId ?? noAccount
  const record = JSON.stringify({ head: secrets.seal(JSON.stringify(head), boundTo(id)) })
  await tx
    .insertInto('audit_heads')
    .values({ account_id: id, record })
    .onConflict((conflict) => conflict.column('account_id').doUpdateSet({ record }))
    .execute()
}

function opened(row: { account_id: string; record: string }, secrets: SecretBox): AuditHead | null {
  try {
    return headRecord.parse(secrets.open(sealedRecord.parse(row.record).head, boundTo(row.account_id)))
  } catch {
    return null
  }
}
