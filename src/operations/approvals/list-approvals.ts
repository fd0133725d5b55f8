import { listApprovals } from '../../contract/approvals.ts'
import { listApprovalsOf } from '../../store/repositories/approvals.ts'
import { handler } from '../core/handler.ts'
import { approvalResponse, mayRead } from './responses.ts'

export default handler(listApprovals, async (context, { status, limit, offset }, target) => {
  const { accountId } = target.account
  // Only their objects tell which of the pending ones are stale.
  const stored = status === 'stale' || status === 'pending' ? 'waiting' : status
  const found = await listApprovalsOf(context.tx, accountId, { status: stored, now: context.now })
  const approvals = []
  for (const one of found) if (mayRead(context, target, one)) approvals.push(await summaryOf(context, one))
  const shown = status === undefined ? approvals : approvals.filter((one) => one.status === status)
  const pending = approvals.filter((one) => one.status === 'pending').length
  return { answer: { approvals: shown.slice(offset, offset + limit), pending, total: shown.length } }
})

async function summaryOf(...of: Parameters<typeof approvalResponse>) {
  const { approvalId, title, status, requestedBy, reason, ruleId, url, createdAt, expiresAt, steps } =
    await approvalResponse(...of)
  const operations = steps.map(({ operation }) => operation)
  return { approvalId, title, status, requestedBy, reason, ruleId, url, createdAt, expiresAt, operations }
}
