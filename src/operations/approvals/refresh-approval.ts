import { refreshApproval } from '../../contract/approvals.ts'
import { AppError } from '../../errors.ts'
import { requestApproval } from '../core/approval-request.ts'
import { handler } from '../core/handler.ts'
import { openCalls, requesterNow } from './open-calls.ts'
import { approvalResponse, currentStatus, impactOfRequest, notPending, requireReadable } from './responses.ts'
import { approvalChange, saved } from './save.ts'

export default handler(refreshApproval, async (context, _input, target) => {
  const { approval } = target
  requireReadable(context, target, approval)
  const status = await currentStatus(context, approval)
  if (status !== 'pending' && status !== 'stale') throw notPending(status)
  const calls = await openCalls(context, approval)
  const requesterCaller = await requesterNow(context, approval)
  if (!requesterCaller) {
    throw new AppError('conflict', 'The requester can no longer act', {
      details: 'Its token was revoked or has expired. Request the change again.',
    })
  }
  // First, so that the same request is not answered with the approval that it replaces.
  const replaced = await saved(context, { ...approval, status: 'stale' })
  const { accountId, title, reason, requestedBy } = approval
  const fresh = await requestApproval(context, {
    ...{ accountId, title, reason, calls, requestedBy, requesterCaller },
    requestHash: approval.actionDigest,
  })
  const after = await saved(context, { ...replaced, replacedBy: fresh.approvalId })
  return {
    answer: await approvalResponse(context, fresh),
    change: approvalChange(approval, after),
    impact: { ...(await impactOfRequest(context.tx, fresh)), undo: 'none' },
    effects: ['Replaces the approval by a new one with the effects as of now.'],
  }
})
