import { counted } from '../amounts.ts'
import type { Approval, ApprovalStatus } from '../contract/approvals.ts'
import type { ChatReply, ChatText } from './chat.ts'
import { escaped } from './text.ts'

/** An approval, and what the person saw of it: the value of its buttons. */
interface Reviewed {
  approvalId: string
  reviewDigest: string
}

function reviewedText({ approvalId, reviewDigest }: Reviewed): string {
  return `${approvalId} ${reviewDigest}`
}

/** Null for a value that no button of ours has. */
export function reviewedIn(value: string): Reviewed | null {
  const [approvalId, reviewDigest, ...more] = value.split(' ')
  return approvalId && reviewDigest && more.length === 0 ? { approvalId, reviewDigest } : null
}

type Shown = Pick<
  Approval,
  'approvalId' | 'title' | 'steps' | 'reason' | 'ruleId' | 'expiresAt' | 'decisions' | 'approvers' | 'results'
> & {
  reviewDigest: string
  status: ApprovalStatus
  requestedBy: { kind: string; agent: string | null; name: string | null }
  url: string
}

const mostEffects = 12

const ends: Readonly<Record<ApprovalStatus, string>> = {
  pending: 'Waits for a decision',
  approved: 'Approved',
  executed: 'Approved and done',
  failed: 'Approved, but it failed',
  denied: 'Denied; nothing was changed',
  expired: 'Expired; nothing was changed',
  stale: 'Stale: its objects changed since it was shown. The page of the approval shows it as of now',
  withdrawn: 'Withdrawn; nothing was changed',
}

/** The message of an approval in its present state; with buttons while it waits. */
export function approvalMessage(approval: Shown): ChatText {
  const { title, status, requestedBy, reason, ruleId, expiresAt, approvers, decisions, steps, url } = approval
  const by = [requestedBy.kind, requestedBy.agent, requestedBy.name].filter((one) => one).join(' ')
  const effects = steps.flatMap((step) => step.effects)
  const lost = steps.some(({ impact }) => impact.dataLost) ? ['*Data is lost.*'] : []
  const isPending = status === 'pending'
  const failed = approval.results.find(({ error }) => error !== undefined)
  return {
    title: `${isPending ? 'Approval wanted' : ends[status]}: ${escaped(title, 200)}`,
    lines: [
      `Requested by ${escaped(by, 200)}${ruleId === null ? '' : `; rule ${escaped(ruleId, 100)} asks`}.`,
      ...(reason === null ? [] : [`Reason: ${escaped(reason, 500)}`]),
      ...effects.slice(0, mostEffects).map((effect) => `• ${escaped(effect, 300)}`),
      ...(effects.length > mostEffects ? [`• and ${effects.length - mostEffects} more`] : []),
      ...lost,
      ...decisions.map(
        ({ userId, name, decision, comment }) =>
          `${decision === 'approve' ? 'Approved' : 'Denied'} by ${escaped(name ?? userId, 100)}${comment === null ? '' : `: ${escaped(comment, 300)}`}`,
      ),
      ...(failed ? [`${escaped(failed.error ?? '', 300)}. ${escaped(failed.details ?? '', 500)}`] : []),
      isPending
        ? `Needs ${counted(approvers.count, 'person', 'people')} until ${expiresAt}.`
        : `${ends[status]}.`,
      `All changes: ${url}`,
    ],
    ...(isPending
      ? {
          buttons: [
            { label: 'Approve', action: 'approve', value: reviewedText(approval), style: 'primary' as const },
            { label: 'Deny', action: 'deny', value: reviewedText(approval), style: 'danger' as const },
          ],
        }
      : {}),
  }
}

export function waitingApprovals(
  approvals: readonly { approvalId: string; title: string; url: string }[],
): ChatReply {
  return {
    title:
      approvals.length === 0 ? 'No approval waits.' : `${counted(approvals.length, 'approval')} to decide`,
    lines: approvals.map(
      ({ approvalId, title, url }) =>
        `• ${escaped(title, 200)}: \`/longshore approve ${approvalId}\` or ${url}`,
    ),
  }
}
