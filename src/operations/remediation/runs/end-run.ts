import type { RemediationRun } from '../../../contract/remediations.ts'
import type { StoredRemediation, StoredRun } from '../../../domain/remediation/remediation.ts'
import type { Tx } from '../../../store/db.ts'
import { findApproval, saveApproval } from '../../../store/repositories/approvals.ts'
import { deleteToken } from '../../../store/repositories/tokens.ts'

/** The run as it ends: its agent can do nothing more, and its approval waits no longer. */
export async function ended(
  tx: Tx,
  run: StoredRun,
  { status, reason, at }: { status: RemediationRun['status']; reason: string; at: string },
): Promise<StoredRun> {
  for (const tokenId of run.tokenIds) await deleteToken(tx, tokenId)
  await withdrawWaiting(tx, run)
  return { ...run, status, reason, finishedAt: at, tokenIds: [] }
}

export async function withdrawWaiting(tx: Tx, { approvalId }: StoredRun): Promise<void> {
  const approval = approvalId === undefined ? null : await findApproval(tx, approvalId)
  if (approval?.status !== 'pending') return
  await saveApproval(tx, { ...approval, status: 'withdrawn', revision: approval.revision + 1 })
}

/** Steps as they were when the run began to act. */
export function planOf(run: StoredRun, { steps }: StoredRemediation): StoredRemediation['steps'] {
  return run.plan ?? steps
}
