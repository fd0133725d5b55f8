import { newId } from '../../domain/ids.ts'
import type { Tx } from '../db.ts'

declare module '../db.ts' {
  interface Tables {
    failed_writes: { failure_id: string; principal: string; request: string; at: string; reason: string }
  }
}

interface FailedWrite {
  principal: string
  /** Hash of the operation and its input. */
  request: string
  at: string
  reason: string
}

/** Stores a failure, forgets those of the caller from before `since`, and returns those of the same request, oldest first. */
export async function addFailedWrite(tx: Tx, failed: FailedWrite, since: string): Promise<FailedWrite[]> {
  const { principal, request } = failed
  await tx.deleteFrom('failed_writes').where('principal', '=', principal).where('at', '<', since).execute()
  await tx
    .insertInto('failed_writes')
    .values({ failure_id: newId('key'), ...failed })
    .execute()
  return tx
    .selectFrom('failed_writes')
    .select(['principal', 'request', 'at', 'reason'])
    .where('principal', '=', principal)
    .where('request', '=', request)
    .orderBy('at')
    .execute()
}
