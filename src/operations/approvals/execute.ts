import type { ApprovalResult } from '../../contract/approvals.ts'
import { type StoredApproval, worsened } from '../../domain/approvals/approval.ts'
import { AppError } from '../../errors.ts'
import type { Db, Tx } from '../../store/db.ts'
import { findApproval, saveApproval } from '../../store/repositories/approvals.ts'
import type { StepCall } from '../core/call.ts'
import type { Context, Outcome, PerformedStep, Sources, StepPeople } from '../core/handler.ts'
import { ApproverRefused } from '../core/steps.ts'
import { openCalls, requesterNow } from './open-calls.ts'

export interface Execution {
  approval: StoredApproval
  wake?: string[]
  /** Completes answers that come after the commit, such as that of a test notification. */
  complete?: (write: Db['write'], sources: Sources) => Promise<ApprovalResult[]>
}

type AfterCommit = NonNullable<Outcome<unknown>['afterCommit']>

/**
 * Runs the steps in the transaction of the decision, so that a crash or two decisions at once run them once or not at all.
 * It stops at the first step that fails; the ones before it stay, and each can be undone.
 */
export async function execute(context: Context, approval: StoredApproval): Promise<Execution> {
  const requester = await requesterNow(context, approval)
  if (!requester) return { approval: { ...approval, status: 'failed', results: [requesterGone] } }
  const calls = await openCalls(context, approval)
  const results: ApprovalResult[] = []
  const wake: string[] = []
  const later = new Map<number, AfterCommit>()
  for (const [index, call] of calls.entries()) {
    const { beyond, impact } = approval.steps[index]!
    const done = await performed(
      context,
      call,
      { requester, approver: context.caller, beyond },
      approval.approvalId,
    )
    if ('error' in done) {
      results.push(done)
      break
    }
    requireAsShown(impact, done)
    const { answer, afterCommit, wake: woken = [] } = done.outcome
    results.push({ answer: (answer ?? {}) as Record<string, unknown>, auditId: done.auditId })
    if (afterCommit) later.set(index, afterCommit as AfterCommit)
    wake.push(...woken)
  }
  const failed = results.at(-1)?.error !== undefined
  const executed: StoredApproval = { ...approval, status: failed ? 'failed' : 'executed', results }
  return {
    approval: executed,
    wake,
    ...(later.size > 0 ? { complete: completer(approval.approvalId, results, later) } : {}),
  }
}

const requesterGone: ApprovalResult = {
  error: 'The requester can no longer act',
  details:
    'Its token was revoked or has expired, or it lost access. Nothing was changed; request the change again.',
  auditId: null,
}

/** Anything but a refusal is no result of the step: the decision fails, and can be repeated. */
async function performed(
  { steps }: Context,
  call: StepCall,
  people: StepPeople,
  approvalId: string,
): Promise<PerformedStep | (ApprovalResult & { error: string })> {
  try {
    return await steps.perform(call, people, approvalId)
  } catch (error) {
    if (!(error instanceof AppError) || error instanceof ApproverRefused) throw error
    const { message, details } = error
    return { error: message, ...(details === undefined ? {} : { details }), auditId: null }
  }
}

/** Only what people saw happens, also where no revision moved: an autoscaler may have started more containers. */
function requireAsShown(shown: StoredApproval['steps'][number]['impact'], { ruling }: PerformedStep): void {
  const worse = worsened(shown, ruling.facts.impact)
  if (worse.length === 0) return
  throw new AppError('conflict', 'Approval is stale', {
    details: `Its effects changed since it was shown: ${worse.join('; ')}. refresh-approval shows them as of now.`,
    rule: 'needs-approval',
  })
}

function completer(approvalId: string, results: ApprovalResult[], later: ReadonlyMap<number, AfterCommit>) {
  return async (write: Db['write'], sources: Sources): Promise<ApprovalResult[]> => {
    const completed = [...results]
    for (const [index, afterCommit] of later) {
      const answer = (await afterCommit(write, sources)) as Record<string, unknown>
      completed[index] = { ...completed[index]!, answer }
    }
    await write((tx) => saveResults(tx, approvalId, completed))
    return completed
  }
}

async function saveResults(tx: Tx, approvalId: string, results: ApprovalResult[]): Promise<void> {
  const stored = await findApproval(tx, approvalId)
  if (stored) await saveApproval(tx, { ...stored, results, revision: stored.revision + 1 })
}
