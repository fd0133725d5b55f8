import type { ApprovalPendingBody } from '../../contract/approvals.ts'
import type { Account } from '../../store/repositories/accounts.ts'
import type { Target } from './access-targets.ts'
import { requestApproval } from './approval-request.ts'
import type { Call, Reply } from './call.ts'
import type { Context } from './handler.ts'
import { hashOf } from './idempotency.ts'
import { subjectOf } from './refusal-audit.ts'

/** The 202 of a write that a rule asks about (docs/autonomy.md#approvals). */
export async function answerWithApproval(context: Context, target: Target, call: Call): Promise<Reply> {
  const { accountId } = target.account as Account
  const { objectId } = subjectOf(call)
  const approval = await requestApproval(context, {
    accountId,
    title: `${call.operation.id} ${objectId}`.trim(),
    reason: null,
    calls: [call],
    requestHash: hashOf(call),
  })
  const { approvalId, status, expiresAt, ruleId, approvers } = approval
  const { changes, effects, impact } = approval.steps[0]!
  const url = `${context.installation.publicUrl()}/console/approvals/${approvalId}`
  const body: ApprovalPendingBody = {
    approvalId,
    status,
    url,
    expiresAt,
    changes,
    effects,
    impact,
    ruleId,
    approvers,
  }
  return { status: 202, body: JSON.stringify(body) }
}
