import type { Tx } from '../db.ts'

/** An idempotency key, and the caller that it belongs to. */
export interface HeldKey {
  holder: string
  key: string
}

export interface KeptResponse {
  requestHash: string
  status: number
  body: string
  createdAt: string
  /** The run that will give the answer; null once it has. */
  runId: string | null
}

export async function findKeptResponse(tx: Tx, { holder, key }: HeldKey): Promise<KeptResponse | null> {
  const row = await tx
    .selectFrom('idempotency')
    .selectAll()
    .where('principal', '=', holder)
    .where('key', '=', key)
    .executeTakeFirst()
  if (!row) return null
  const { request_hash: requestHash, status, body, created_at: createdAt, run_id: runId } = row
  return { requestHash, status, body, createdAt, runId }
}

export async function keepResponse(tx: Tx, { holder, key }: HeldKey, response: KeptResponse): Promise<void> {
  const { requestHash, status, body, createdAt, runId } = response
  await tx
    .insertInto('idempotency')
    .values({
      principal: holder,
      key,
      request_hash: requestHash,
      status,
      body,
      created_at: createdAt,
      run_id: runId,
    })
    .execute()
}

/** Stores the answer that the run gave. */
export async function completeResponse(
  tx: Tx,
  { holder, key }: HeldKey,
  { runId, body }: { runId: string; body: string },
): Promise<void> {
  await tx
    .updateTable('idempotency')
    .set({ body, run_id: null })
    .where('principal', '=', holder)
    .where('key', '=', key)
    .where('run_id', '=', runId)
    .execute()
}

/** Frees the key of a run that gave no answer. */
export async function releaseKey(tx: Tx, { holder, key }: HeldKey, runId: string): Promise<void> {
  await tx
    .deleteFrom('idempotency')
    .where('principal', '=', holder)
    .where('key', '=', key)
    .where('run_id', '=', runId)
    .execute()
}

/** Responses are kept for 24 hours (docs/interface.md#idempotency). */
export async function forgetAnswersBefore(tx: Tx, createdAt: string): Promise<void> {
  await tx.deleteFrom('idempotency').where('created_at', '<', createdAt).execute()
}
