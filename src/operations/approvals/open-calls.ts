import { operations } from '../../contract/index.ts'
import type { Calls, StoredApproval } from '../../domain/approvals/approval.ts'
import { AppError } from '../../errors.ts'
import { findSealedCalls } from '../../store/repositories/approvals.ts'
import { findRun } from '../../store/repositories/remediation-runs.ts'
import { sealedAs } from '../core/approval-request.ts'
import type { StepCall } from '../core/call.ts'
import { type Caller, callerOfToken, remediationCaller } from '../core/caller.ts'
import type { Context } from '../core/handler.ts'

const byId = new Map(operations.map((row) => [row.id, row]))

/** The calls as they were requested, secrets included. Throws `conflict` if a new version lacks one of the operations. */
export async function openCalls(
  { tx, secrets }: Context,
  { approvalId }: StoredApproval,
): Promise<StepCall[]> {
  const sealed = await findSealedCalls(tx, approvalId)
  const { steps } = JSON.parse(secrets.open(sealed, sealedAs(approvalId))) as Calls
  return steps.map(({ operation: id, input }) => {
    const operation = byId.get(id)
    if (operation) return { operation, input }
    throw new AppError('conflict', 'The approval cannot run', {
      details: `This version has no operation ${id}. Request it again.`,
    })
  })
}

/** The requester as of now: its token may be revoked or expired, and its permissions may have changed. */
export async function requesterNow(
  { tx, now }: Context,
  { requestedBy }: StoredApproval,
): Promise<Caller | null> {
  const { tokenId, kind, userId, remediationRunId } = requestedBy
  if (remediationRunId !== undefined && userId !== null) {
    const run = await findRun(tx, remediationRunId)
    return run?.status === 'waiting' ? remediationCaller(userId, remediationRunId) : null
  }
  return tokenId === null ? null : callerOfToken(tx, { tokenId, actor: kind }, now)
}
