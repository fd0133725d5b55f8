import { withdrawApproval } from '../../contract/approvals.ts'
import { AppError } from '../../errors.ts'
import { handler } from '../core/handler.ts'
import { currentStatus, notPending, requireReadable } from './responses.ts'
import { approvalChange, saved } from './save.ts'

export default handler(withdrawApproval, async (context, _input, target) => {
  const { approval } = target
  requireReadable(context, target, approval)
  const { actor, token } = context.caller
  if (actor !== 'person' && approval.requestedBy.tokenId !== token.tokenId) {
    throw new AppError('forbidden', 'Agents withdraw only what they requested', {
      details: 'A person can withdraw or deny it.',
    })
  }
  const status = await currentStatus(context, approval)
  if (status !== 'pending' && status !== 'stale') throw notPending(status)
  const after = await saved(context, { ...approval, status: 'withdrawn' })
  return {
    answer: { message: 'Withdrawn', approvalId: after.approvalId, status: after.status },
    change: approvalChange(approval, after),
    impact: { actions: ['change-settings'], undo: 'none' },
    effects: ['Withdraws the approval, so that it cannot run.'],
  }
})
