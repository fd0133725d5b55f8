import { getApproval } from '../../contract/approvals.ts'
import { handler } from '../core/handler.ts'
import { approvalResponse, requireReadable } from './responses.ts'

export default handler(getApproval, async (context, _input, target) => {
  const { approval } = target
  requireReadable(context, target, approval)
  const answer = await approvalResponse(context, approval)
  return { answer, isUnderWay: answer.status === 'pending' }
})
