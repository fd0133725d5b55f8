import { timestamp } from '../../../clock.ts'
import type { RemediationRun } from '../../../contract/remediations.ts'
import type { StoredApproval } from '../../../domain/approvals/approval.ts'
import { nextOf, type RunFacts, verdictOf } from '../../../domain/remediation/next.ts'
import { isOpenRun, type StoredRun } from '../../../domain/remediation/remediation.ts'
import type { AppError } from '../../../errors.ts'
import type { Tx } from '../../../store/db.ts'
import {
  findRun,
  forgetOldRuns,
  listOpenRuns,
  listRunsThatActed,
  saveRun,
} from '../../../store/repositories/remediation-runs.ts'
import { remediationCaller } from '../../core/caller.ts'
import type { Context, RemediationContexts } from '../../core/handler.ts'
import { act, rehearsed, type StepProgress, textOf, verifying } from './act.ts'
import { type Answer, afterApproval, answerOf, ask } from './ask.ts'
import { ended, planOf } from './end-run.ts'
import { notifyPeople } from './notify.ts'
import { turnToAskIfOscillating } from './oscillation.ts'
import { changedByOthers, loadRunTarget, type RunTarget, triggerStateOf } from './run-target.ts'
import type { Seen } from './seen.ts'
import { tellChats } from './tell-chats.ts'
import { undoRun } from './undo.ts'

interface Advancing {
  contexts: RemediationContexts
  clockScale: number
}

interface Step {
  context: Context
  run: StoredRun
  target: RunTarget
  seen: Seen
  facts: RunFacts
}

/** The run afterwards, and the environments to wake. */
interface Advanced {
  run: StoredRun
  wake?: string[]
}

/**
 * Advances one run in the transaction of whatever it does, so that a crash leaves a step undone and unrecorded, or done
 * and recorded. Resolves to the environments to wake; null: another control plane was first.
 */
export async function advance(
  { contexts, clockScale }: Advancing,
  tx: Tx,
  runId: string,
  seen: Seen,
): Promise<string[] | null> {
  const run = await findRun(tx, runId)
  if (!run || !isOpenRun(run)) return null
  const target = await loadRunTarget(tx, run)
  if (!target) return null
  const context = contexts.remediationContext(tx, remediationCaller(target.remediation.actsFor, runId))
  const scaled = (seconds: number) => (seconds * 1000) / clockScale
  const facts = await factsOf(context, run, target, seen, scaled)
  const step: Step = { context, run, target, seen, facts }
  const { run: next, wake = [] } = run.status === 'verifying' ? await verify(step) : await proceed(step)
  const after = isOpenRun(next) ? next : await finish(context, next, target)
  if (JSON.stringify(after) !== JSON.stringify(run) && !(await saveRun(tx, after))) throw new RunMoved()
  await tellChats(context, run, after, target)
  return wake
}

/** Another transaction changed the run: this one must not be stored. */
export class RunMoved extends Error {}

async function factsOf(
  { tx, now }: Context,
  run: StoredRun,
  target: RunTarget,
  seen: Seen,
  scaled: (seconds: number) => number,
): Promise<RunFacts> {
  const { remediation, account } = target
  const { atMost, coolDownSeconds } = remediation
  const span = Math.max(scaled(atMost.windowSeconds), scaled(coolDownSeconds))
  const since = timestamp(Date.parse(now) - span)
  const jobs = planOf(run, remediation).flatMap((step) =>
    'appEnvId' in step && step.appEnvId ? [step.appEnvId] : [],
  )
  const others = await listOpenRuns(tx, { appEnvId: run.appEnvId })
  const busy = others.find((one) => one.runId !== run.runId && one.status === 'verifying')
  return {
    now,
    remediation,
    run,
    trigger: await triggerStateOf(tx, run, target, seen),
    changedBy: await changedByOthers(tx, run, [run.appEnvId, ...jobs]),
    agentsPaused: account.settings.agentsPaused === true,
    busy: busy ? `Another run (${busy.runId}) acts on the environment; it waits for its end.` : null,
    earlier: await listRunsThatActed(tx, run.remediationId, since),
    scaled,
  }
}

/** A run that has not finished its steps. */
async function proceed({ context, run, target, seen, facts }: Step): Promise<Advanced> {
  // What people approved is done already, whatever became of the trigger since.
  const answer = run.approvalId === undefined ? null : await answerOf(context, run)
  const step = { context, run, target, seen, facts }
  if (answer?.is === 'executed') return executed(step, answer.approval)
  const next = nextOf(facts)
  if (next.is === 'end') return { run: await end(context, run, next.status, next.reason) }
  if (answer !== null) return answered(step, answer)
  if (next.is === 'wait') return { run: { ...run, reason: next.reason } }
  const picture = seen.picture ?? run.picture
  const seenRun = { ...run, picture, mode: target.remediation.mode }
  if (target.remediation.mode === 'observe') {
    const dryRun = await rehearsed(context, seenRun, target, seen)
    const reason = 'Mode observe: nothing was changed; dryRun shows what the steps would have done.'
    return { run: await end(context, { ...seenRun, dryRun }, 'observed', reason) }
  }
  if (target.remediation.mode === 'ask') return asking({ context, run: seenRun, target, seen, facts })
  return acting({ context, run: seenRun, target, seen, facts }, await act(context, seenRun, target, seen))
}

async function asking(step: Step): Promise<Advanced> {
  const { context, run, target, seen, facts } = step
  try {
    const waiting = await ask(context, run, target, seen)
    if (waiting) return { run: waiting }
  } catch (error) {
    return stopped(step, { run, wake: [] }, error as AppError)
  }
  // Only messages are left: an agent that is called may propose, and people decide over that.
  const { run: done, wake } = await act(context, run, target, seen)
  return { run: verifying(done, target, context, facts.scaled), wake }
}

async function executed(step: Step, approval: StoredApproval): Promise<Advanced> {
  const { context, run, target, facts } = step
  const { failed, ...progress } = await afterApproval(context, run, approval, target)
  if (failed !== null) return failedAfter(step, progress, failed)
  return { ...progress, run: verifying(progress.run, target, context, facts.scaled) }
}

async function answered(
  { context, run, target, seen }: Step,
  answer: Exclude<Answer, { is: 'executed' }>,
): Promise<Advanced> {
  switch (answer.is) {
    case 'pending':
      return { run: { ...run, approvalId: answer.approvalId } }
    case 'again': {
      const { approvalId: _, ...again } = run
      return { run: (await ask(context, again, target, seen)) ?? again }
    }
    case 'ended':
      return { run: await end(context, run, answer.status, answer.reason) }
  }
}

/** The steps were tried. */
async function acting(step: Step, progress: StepProgress): Promise<Advanced> {
  const { context, target, seen, facts } = step
  if (progress.asks) {
    const waiting = await ask(context, progress.run, target, seen)
    return { run: waiting ?? progress.run, wake: progress.wake }
  }
  if (progress.error) return stopped(step, progress, progress.error)
  return { run: verifying(progress.run, target, context, facts.scaled), wake: progress.wake }
}

/** Rules by which people decided against a step. */
const endsWithoutFailure = ['policy', 'remediation-people']

/** A step was refused or failed. What only has to wait, waits; what was done before it is put back. */
async function stopped(step: Step, progress: StepProgress, error: AppError): Promise<Advanced> {
  const reason = textOf(error)
  const waits =
    error.rule === 'claimed-environment' || error.rule === 'agents-paused' || error.kind === 'unavailable'
  if (waits) return { run: { ...progress.run, reason }, wake: progress.wake }
  if (progress.run.steps.some(({ auditId }) => auditId !== null)) return failedAfter(step, progress, reason)
  const status =
    error.kind === 'rate-limited'
      ? 'limited'
      : endsWithoutFailure.includes(error.rule ?? '')
        ? 'skipped'
        : 'failed'
  return { run: await end(step.context, progress.run, status, reason), wake: progress.wake }
}

async function failedAfter(step: Step, progress: StepProgress, reason: string): Promise<Advanced> {
  const { run, wake = [] } = await giveUp({ ...step, run: progress.run }, reason)
  return { run, wake: [...progress.wake, ...wake] }
}

/** A run whose steps are done. */
async function verify(step: Step): Promise<Advanced> {
  const { context, run, seen, facts } = step
  const seenRun = { ...run, picture: seen.picture ?? run.picture }
  const verdict = verdictOf(facts)
  if (verdict.is === 'wait') return { run }
  if (verdict.is === 'end') return { run: await end(context, seenRun, verdict.status, verdict.reason) }
  if (verdict.is === 'act') return { run }
  if (facts.agentsPaused && facts.remediation.mode !== 'off')
    return { run: { ...run, reason: `${verdict.reason} Agents are paused; the undo waits.` } }
  return giveUp({ ...step, run: seenRun }, verdict.reason)
}

/** Not verified: what the steps changed is put back, unless it is to stay. */
async function giveUp({ context, run, target }: Step, reason: string): Promise<Advanced> {
  if (target.remediation.onFailure === 'leave')
    return { run: await end(context, run, 'failed', `${reason} What the steps did stays (onFailure leave).`) }
  const undone = await undoRun(context, run)
  const { wake } = undone
  if (undone.problem !== null)
    return { run: await end(context, undone.run, 'failed', `${reason} ${undone.problem}`), wake }
  if (undone.count === 0)
    return {
      run: await end(context, undone.run, 'failed', `${reason} Its steps left nothing to put back.`),
      wake,
    }
  const done = await end(context, undone.run, 'undone', `${reason} What the steps changed was put back.`)
  return { run: { ...done, reason: await turnToAskIfOscillating(context, done, target.remediation) }, wake }
}

function end(context: Context, run: StoredRun, status: RemediationRun['status'], reason: string) {
  return ended(context.tx, run, { status, reason, at: context.now })
}

/** People hear how it ended, unless nothing happened that concerns them. */
async function finish(context: Context, run: StoredRun, target: RunTarget): Promise<StoredRun> {
  const isSilent =
    run.status === 'observed' || (run.status === 'skipped' && run.steps.length === 0 && !run.approvalId)
  if (!isSilent) await notifyPeople(context, run, target)
  await forgetOldRuns(context.tx, run.remediationId)
  return run
}
