import { z } from 'zod'
import { type ApprovalStatus, approvalStatuses } from '../../contract/approvals.ts'
import type { StoredApproval } from '../../domain/approvals/approval.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

declare module '../db.ts' {
  interface Tables {
    approvals: {
      approval_id: string
      account_id: string
      /** Who requested it, as for idempotency keys: the same request of the same requester is one approval. */
      requester: string
      request_hash: string
      status: string
      expires_at: string
      created_at: string
      revision: number
      /** The calls with their secrets; empty once they can run no more. */
      sealed: string
      record: string
    }
  }
}

const approvalRecord = recordReader<StoredApproval>(
  'approvals',
  'approvalId',
  z.object({ approvalId: z.string(), accountId: z.string(), status: z.enum(approvalStatuses) }),
)

const sealedCalls = recordReader<{ calls: string }>('approvals', null, z.object({ calls: z.string() }))

export async function insertApproval(
  tx: Tx,
  approval: StoredApproval,
  { sealed, requester, requestHash }: { sealed: string; requester: string; requestHash: string },
): Promise<void> {
  await tx
    .insertInto('approvals')
    .values({
      approval_id: approval.approvalId,
      account_id: approval.accountId,
      requester,
      request_hash: requestHash,
      created_at: approval.createdAt,
      // As JSON, as rotations of keys expect sealed values.
      sealed: JSON.stringify({ calls: sealed }),
      ...columnsOf(approval),
    })
    .execute()
}

/** False if another transaction changed it since it was read: nothing is stored then. */
export async function saveApproval(tx: Tx, approval: StoredApproval): Promise<boolean> {
  const ended = approval.status === 'pending' ? {} : { sealed: '' }
  const saved = await tx
    .updateTable('approvals')
    .set({ ...columnsOf(approval), ...ended })
    .where('approval_id', '=', approval.approvalId)
    .where('revision', '=', approval.revision - 1)
    .executeTakeFirst()
  return saved.numUpdatedRows === 1n
}

function columnsOf(approval: StoredApproval) {
  const { status, expiresAt, revision } = approval
  return { status, expires_at: expiresAt, revision, record: JSON.stringify(approval) }
}

export async function findApproval(tx: Tx, approvalId: string): Promise<StoredApproval | null> {
  const row = await tx
    .selectFrom('approvals')
    .select('record')
    .where('approval_id', '=', approvalId)
    .executeTakeFirst()
  return approvalRecord.one(row)
}

/** The sealed calls; empty if they can run no more. */
export async function findSealedCalls(tx: Tx, approvalId: string): Promise<string> {
  const row = await tx
    .selectFrom('approvals')
    .select('sealed')
    .where('approval_id', '=', approvalId)
    .executeTakeFirst()
  return row?.sealed ? sealedCalls.parse(row.sealed, approvalId).calls : ''
}

/** The approval that waits for the same request of the same requester. */
export async function findWaiting(
  tx: Tx,
  { requester, requestHash, now }: { requester: string; requestHash: string; now: string },
): Promise<StoredApproval | null> {
  const row = await tx
    .selectFrom('approvals')
    .select('record')
    .where('requester', '=', requester)
    .where('request_hash', '=', requestHash)
    .where('status', '=', 'pending')
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .executeTakeFirst()
  return approvalRecord.one(row)
}

export async function countWaiting(tx: Tx, accountId: string, now: string): Promise<number> {
  const row = await tx
    .selectFrom('approvals')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .where('status', '=', 'pending')
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

/** Newest first. `waiting`: those that are pending, and those that went stale meanwhile. */
export async function listApprovalsOf(
  tx: Tx,
  accountId: string,
  { status, now }: { status?: ApprovalStatus | 'waiting' | undefined; now: string },
): Promise<StoredApproval[]> {
  let query = tx.selectFrom('approvals').select('record').where('account_id', '=', accountId)
  if (status === 'waiting')
    query = query.where((e) =>
      e.or([e('status', '=', 'stale'), e.and([e('status', '=', 'pending'), e('expires_at', '>', now)])]),
    )
  else if (status === 'expired')
    query = query.where((e) =>
      e.or([e('status', '=', 'expired'), e.and([e('status', '=', 'pending'), e('expires_at', '<=', now)])]),
    )
  else if (status !== undefined) query = query.where('status', '=', status)
  const rows = await query.orderBy('created_at', 'desc').orderBy('approval_id').execute()
  return approvalRecord.all(rows)
}

/** Drops the secrets of approvals that can run no more, and approvals that ended long ago: the audit log has them. */
export async function forgetEndedApprovals(tx: Tx, now: string, endedBefore: string): Promise<void> {
  await tx
    .updateTable('approvals')
    .set({ sealed: '' })
    .where('status', '=', 'pending')
    .where('expires_at', '<=', now)
    .where('sealed', '!=', '')
    .execute()
  await tx.deleteFrom('approvals').where('expires_at', '<', endedBefore).execute()
}
