import type { Tx } from '../db.ts'

export interface KeptResponse {
  requestHash: string
  status: number
  body: string
}

export async function findKeptResponse(tx: Tx, principal: string, key: string): Promise<KeptResponse | null> {
  const row = await tx
    .selectFrom('idempotency')
    .selectAll()
    .where('principal', '=', principal)
    .where('key', '=', key)
    .executeTakeFirst()
  return row ? { requestHash: row.request_hash, status: row.status, body: row.body } : null
}

export async function keepResponse(
  tx: Tx,
  principal: string,
  key: string,
  answer: KeptResponse,
  createdAt: string,
): Promise<void> {
  await tx
    .insertInto('idempotency')
    .values({
      principal,
      key,
      request_hash: answer.requestHash,
      status: answer.status,
      body: answer.body,
      created_at: createdAt,
    })
    .execute()
}

/** Responses are kept for 24 hours (docs/interface.md#idempotency). */
export async function forgetAnswersBefore(tx: Tx, createdAt: string): Promise<void> {
  await tx.deleteFrom('idempotency').where('created_at', '<', createdAt).execute()
}
