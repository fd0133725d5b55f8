import { counted } from '../../amounts.ts'
import { type ApprovalDecision, decideApproval } from '../../contract/approvals.ts'
import { isAgreed, type StoredApproval } from '../../domain/approvals/approval.ts'
import { AppError } from '../../errors.ts'
import type { AccountTarget } from '../core/access-targets.ts'
import { type Context, handler, type OutcomeOf } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'
import { type Execution, execute } from './execute.ts'
import { movedBases } from './moved-bases.ts'
import { approvalResponse, currentStatus, notPending, requireReadable } from './responses.ts'
import { approvalChange, saved } from './save.ts'

interface Target extends AccountTarget {
  approval: StoredApproval
}

export default handler(decideApproval, async (context, input, target) => {
  const { approval } = target
  requirePerson(context)
  requireReadable(context, target, approval)
  const userId = userOf(context.caller)
  const status = await currentStatus(context, approval)
  if (status === 'stale' || (status === 'pending' && input.reviewDigest !== approval.reviewDigest))
    throw await staleApproval(context, approval)
  if (status !== 'pending') throw notPending(status)
  requireApprover(target, userId, input.decision)
  if (input.decision === 'approve') requireRunning(target)
  const decision: ApprovalDecision = {
    ...{ userId, surface: context.surface, at: context.now, decision: input.decision },
    comment: input.comment ?? null,
  }
  const decided = { ...approval, decisions: [...approval.decisions, decision] }
  if (input.decision === 'deny')
    return decidedAs(context, approval, { approval: { ...decided, status: 'denied' } })
  if (!isAgreed(decided)) return decidedAs(context, approval, { approval: decided })
  return decidedAs(context, approval, await execute(context, decided))
})

async function decidedAs(
  context: Context,
  before: StoredApproval,
  { approval, wake = [], complete }: Execution,
): Promise<OutcomeOf<typeof decideApproval>> {
  const after = await saved(context, approval)
  const message = sentenceOf(after)
  const response = await approvalResponse(context, after)
  return {
    answer: { message, approval: response },
    change: approvalChange(before, after),
    // That of the decision: what its steps do has audit entries of their own.
    impact: { actions: ['change-settings'], undo: 'none' },
    effects: [message],
    wake,
    ...(complete
      ? {
          afterCommit: async (write, sources) => ({
            message,
            approval: { ...response, results: await complete(write, sources) },
          }),
        }
      : {}),
  }
}

function sentenceOf({ status, decisions, approvers, results, steps }: StoredApproval): string {
  if (status === 'denied') return 'Denied; nothing was changed.'
  if (status === 'executed') return `Approved and done: ${counted(steps.length, 'step')}.`
  if (status === 'failed') {
    const failed = results.at(-1)
    return `Approved, but step ${results.length} of ${steps.length} failed: ${failed?.error}.`
  }
  const given = decisions.filter((one) => one.decision === 'approve').length
  return `Approved by ${given} of ${approvers.count} people; nothing was changed yet.`
}

/** Never an agent, whatever its token may do: silence and models consent to nothing. */
function requirePerson({ caller, surface }: Context): void {
  const { readOnly, scopes } = caller.token
  if (
    caller.kind === 'user' &&
    caller.actor === 'person' &&
    surface !== 'mcp' &&
    !readOnly &&
    scopes === null
  )
    return
  throw new AppError('forbidden', 'Only people decide approvals', {
    details:
      'A person opens the url of the approval, or runs longshore approvals, with a token of their own.',
    rule: 'needs-approval',
  })
}

function requireApprover(
  { approval, membership }: Target,
  userId: string,
  decision: 'approve' | 'deny',
): void {
  const { approvers, requestedBy, decisions } = approval
  const { needs } = approvers
  if ((needs === 'admin' && !membership.admin) || (needs && !membership.admin && !membership.manageMembers)) {
    throw new AppError(
      'forbidden',
      needs === 'admin' ? 'Admin permission required' : 'Manage Members permission required',
      {
        details: 'The rule that asks for this approval wants people with that permission to decide.',
        rule: 'needs-approval',
      },
    )
  }
  if (decision === 'deny') return
  if (approvers.notRequester && requestedBy.userId === userId) {
    throw new AppError('forbidden', 'The requester cannot approve this', {
      details: 'The rule that asks for this approval wants another person to decide.',
      rule: 'needs-approval',
    })
  }
  if (decisions.some((one) => one.userId === userId && one.decision === 'approve')) {
    throw new AppError('conflict', 'You approved this already', {
      details: `It needs ${approvers.count} people; another one has to decide.`,
    })
  }
}

/** Approvals of agents wait while agents are paused; they can be denied. */
function requireRunning({ account, approval }: Target): void {
  if (approval.requestedBy.kind === 'person' || !account.settings.agentsPaused) return
  throw new AppError('forbidden', 'Agents are paused', {
    details: 'The approval keeps waiting. Resume the agents of the account first: longshore agents resume.',
    rule: 'agents-paused',
  })
}

async function staleApproval({ tx }: Context, approval: StoredApproval): Promise<AppError> {
  const moved = await movedBases(tx, approval)
  const changed = moved.map(({ type, id }) => `${type} ${id}`).join(', ')
  return new AppError('conflict', 'Approval is stale', {
    details:
      changed === ''
        ? 'The reviewDigest is not that of the approval as it is now. Read it again and decide over what it shows.'
        : `Changed since it was shown: ${changed}. refresh-approval shows the effects as of now.`,
    rule: 'needs-approval',
  })
}
