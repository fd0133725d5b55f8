import type { ApprovalPendingBody } from '../contract/approvals.ts'
import { AppError } from '../errors.ts'

/** The write waits for the decision of a person, and nothing has changed. */
export class ApprovalPending extends AppError {
  readonly approval: ApprovalPendingBody

  constructor(approval: ApprovalPendingBody) {
    super('conflict', 'A person has to approve this call', {
      details: `Nothing has changed yet. Approval ${approval.approvalId} waits until ${approval.expiresAt}: ${approval.url}`,
      rule: 'needs-approval',
    })
    this.approval = approval
  }
}
