import type { getApproval } from '../../contract/approvals.ts'
import type { OutputOf } from '../../contract/operation.ts'

/** The state of an approval, without texts that people wrote. */
export function approvalSentence({
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
