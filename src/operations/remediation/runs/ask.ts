import { createHash } from 'node:crypto'
import type { RemediationRun } from '../../../contract/remediations.ts'
import { type StoredApproval, statusAt } from '../../../domain/approvals/approval.ts'
import type { StoredRun } from '../../../domain/remediation/remediation.ts'
import { findApproval } from '../../../store/repositories/approvals.ts'
import { findUser } from '../../../store/repositories/users.ts'
import { movedBases } from '../../approvals/moved-bases.ts'
import { requestApproval } from '../../core/approval-request.ts'
import type { StepCall } from '../../core/call.ts'
import type { Context } from '../../core/handler.ts'
import { callOfStep } from '../step-calls.ts'
import { performMessage, type StepProgress } from './act.ts'
import { planOf, withdrawWaiting } from './end-run.ts'
import { notifyPeople } from './notify.ts'
import type { RunTarget } from './run-target.ts'
import type { Seen } from './seen.ts'

/** Asks people to approve the steps that are left. Nothing to approve: null. */
export async function ask(
  context: Context,
  run: StoredRun,
  target: RunTarget,
  seen: Seen,
): Promise<StoredRun | null> {
  const { remediation, account } = target
  const plan = planOf(run, remediation)
  const calls: StepCall[] = []
  for (const step of plan.slice(run.steps.length)) {
    const facts = { environment: target.environment, trigger: remediation.trigger, findings: seen.findings }
    const call = await callOfStep(context.tx, step, facts)
    if (call !== null) calls.push(call)
  }
  if (calls.length === 0) return null
  const requests = run.requests + 1
  const approval = await requestApproval(context, {
    accountId: account.accountId,
    title: `Remediation ${remediation.name}`,
    reason: `${run.trigger.name}, since ${run.trigger.startedAt} (run ${run.runId})`,
    calls,
    requestHash: createHash('sha256').update(`${run.runId} ${requests}`).digest('hex'),
  })
  const { approvalId, expiresAt } = approval
  const reason = `A person has to approve its steps until ${expiresAt}.`
  const waiting = { ...run, plan, approvalId, requests, status: 'waiting' as const, reason }
  await notifyPeople(context, waiting, target)
  return waiting
}

export type Answer =
  | { is: 'pending'; approvalId: string }
  | { is: 'again' }
  | { is: 'executed'; approval: StoredApproval }
  | { is: 'ended'; status: RemediationRun['status']; reason: string }

/** What people decided so far. An approval whose objects moved is replaced by a new one. */
export async function answerOf(context: Context, run: StoredRun): Promise<Answer> {
  const { tx, now } = context
  const approval = await findApproval(tx, run.approvalId!)
  if (!approval) return { is: 'again' }
  const { replacedBy, decisions, results } = approval
  if (replacedBy !== null) return { is: 'pending', approvalId: replacedBy }
  switch (statusAt(approval, now)) {
    case 'pending': {
      if ((await movedBases(tx, approval)).length === 0) return { is: 'pending', approvalId: run.approvalId! }
      await withdrawWaiting(tx, run)
      return { is: 'again' }
    }
    case 'executed':
    case 'failed':
      if (results.length > 0 && results[0]!.auditId === null && results[0]!.error !== undefined)
        return {
          is: 'ended',
          status: 'failed',
          reason: `${results[0]!.error}. ${results[0]!.details ?? ''}`.trim(),
        }
      return { is: 'executed', approval }
    case 'denied': {
      const denial = decisions.findLast(({ decision }) => decision === 'deny')
      const user = denial && (await findUser(tx, { userId: denial.userId }))
      const comment = denial?.comment ? `: ${denial.comment}` : ''
      return {
        is: 'ended',
        status: 'skipped',
        reason: `${user?.name || user?.email || 'A person'} denied it${comment}.`,
      }
    }
    case 'expired':
      return { is: 'ended', status: 'skipped', reason: 'It was not approved in time.' }
    default:
      return { is: 'ended', status: 'skipped', reason: 'Its approval was withdrawn.' }
  }
}

/** The steps that the approval performed, and those that only send messages. */
export async function afterApproval(
  context: Context,
  run: StoredRun,
  { results }: StoredApproval,
  target: RunTarget,
): Promise<StepProgress & { failed: string | null }> {
  const progress: StepProgress = { run: { ...run }, wake: [] }
  const left = [...results]
  for (const step of planOf(run, target.remediation).slice(run.steps.length)) {
    const { action } = step
    if (action === 'notify' || action === 'call-agent') {
      progress.run.steps = [...progress.run.steps, await performMessage(context, progress, step, target)]
      continue
    }
    const result = left.shift()
    if (!result) break
    const { error, details, auditId } = result
    const outcome = error === undefined ? 'done' : 'failed'
    const text = error === undefined ? 'Approved and done.' : `${error}. ${details ?? ''}`.trim()
    progress.run.steps = [...progress.run.steps, { action, outcome, auditId, at: context.now, text }]
    if (error !== undefined) return { ...progress, failed: text }
  }
  return { ...progress, failed: null }
}
