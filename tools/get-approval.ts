import { getApproval } from '../src/contract/approvals.ts'
import type { OutputOf } from '../src/contract/operation.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getApproval,
  group: 'access',
  title: 'Read approval',
  description: 'Reads an approval: status, decisions, results. waitSeconds waits for the decision.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  referredInputs: { waitSeconds: '' },
  point: (approval) => approvalSentence(approval),
})

function approvalSentence({
  approvalId,
  status,
  expiresAt,
  decisions,
  results,
}: OutputOf<typeof getApproval>): string {
  const failed = results.find(({ error }) => error !== undefined)
  if (status === 'pending') return `${approvalId} waits for a person until ${expiresAt}.`
  if (status === 'denied') {
    const hasReason = decisions.some(({ comment }) => comment !== null)
    return `${approvalId} was denied${hasReason ? '; the comment says why' : ''}. Nothing was changed.`
  }
  if (status === 'stale')
    return `${approvalId} is stale: its objects changed since. Request the change again.`
  return failed === undefined
    ? `${approvalId} is ${status}.`
    : `${approvalId} was approved, but step ${results.length} failed: ${failed.error}`
}
