import type { StoredApproval } from '../../domain/approvals/approval.ts'
import { AppError } from '../../errors.ts'
import { saveApproval } from '../../store/repositories/approvals.ts'
import type { Change, Context } from '../core/handler.ts'

/** Stores the next revision, unless another decision came first: then nothing of this transaction is stored. */
export async function saved({ tx }: Context, approval: StoredApproval): Promise<StoredApproval> {
  const next = { ...approval, revision: approval.revision + 1 }
  if (await saveApproval(tx, next)) return next
  throw new AppError('conflict', 'The approval was decided meanwhile', {
    details: 'Read it again with get-approval.',
  })
}

export function approvalChange(before: StoredApproval, after: StoredApproval): Change {
  const { approvalId: objectId, accountId } = before
  return { objectType: 'approval', objectId, accountId, before: recordedOf(before), after: recordedOf(after) }
}

/** The steps have audit entries of their own. */
function recordedOf({ title, status, reviewDigest, decisions, replacedBy }: StoredApproval) {
  return { title, status, reviewDigest, decisions, replacedBy }
}
