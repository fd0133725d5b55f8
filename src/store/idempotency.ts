import type { Tx } from './db.ts'

export interface KeptAnswer {
  requestHash: string
  status: number
  body: string
}

export async function findKeptAnswer(tx: Tx, principal: string, key: string): Promise<KeptAnswer | null> {
  const row = await tx
    .selectFrom('idempotency')
    .selectAll()
    .where('principal', '=', principal)
    .where('key', '=', key)
    .executeTakeFirst()
  return row ? { requestHash: row.request_hash, status: row.status, body: row.body } : null
}

export async function keepAnswer(
  tx: Tx,
  principal: string,
  key: string,
  answer: KeptAnswer,
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

/** Answers are kept for 24 hours (contract.md 1). */
export async function forgetAnswersBefore(tx: Tx, createdAt: string): Promise<void> {
  await tx.deleteFrom('idempotency').where('created_at', '<', createdAt).execute()
}
