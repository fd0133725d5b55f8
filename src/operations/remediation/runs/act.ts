import { timestamp } from '../../../clock.ts'
import type { RemediationStep } from '../../../contract/remediation-fields.ts'
import type { RemediationRun } from '../../../contract/remediations.ts'
import { decisionShown } from '../../../domain/policy/decide.ts'
import { type StoredRun, verifySeconds } from '../../../domain/remediation/remediation.ts'
import { AppError } from '../../../errors.ts'
import type { StepCall } from '../../core/call.ts'
import type { Context, PerformedStep } from '../../core/handler.ts'
import { ApprovalNeeded } from '../../core/policy-gate.ts'
import { callOfStep } from '../step-calls.ts'
import { callAgent, usualSeconds } from './call-agent.ts'
import { planOf } from './end-run.ts'
import { notifyStep } from './notify.ts'
import type { RunTarget } from './run-target.ts'
import type { Seen } from './seen.ts'

/** What the steps of a run led to. `wake`: environments that the reconciler handles after the commit. */
export interface StepProgress {
  run: StoredRun
  wake: string[]
  /** Rules ask a person about the step that comes next. */
  asks?: true
  /** The step that comes next failed. */
  error?: AppError
}

type DoneStep = RemediationRun['steps'][number]

/** What every step would do now, each on its own; nothing is changed. */
export async function rehearsed(
  context: Context,
  run: StoredRun,
  target: RunTarget,
  seen: Seen,
): Promise<NonNullable<RemediationRun['dryRun']>> {
  const shown = []
  for (const step of planOf(run, target.remediation))
    shown.push(await rehearsedStep(context, run, step, target, seen))
  return shown
}

async function rehearsedStep(
  context: Context,
  _run: StoredRun,
  step: RemediationStep,
  target: RunTarget,
  { findings }: Seen,
): Promise<NonNullable<RemediationRun['dryRun']>[number]> {
  const { action } = step
  try {
    const call = await callOfStep(context.tx, step, factsOf(target, findings))
    if (call === null) return { action, effects: [effectOf(step)] }
    const [previewed] = await context.steps.preview([call], context.caller)
    const { changes, effects, impact, decision } = previewed!
    const { operation, input } = call
    const policy = decision && decisionShown(decision)
    return { action, operation: operation.id, input, changes, effects, impact, policy }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { action, error: textOf(error) }
  }
}

function effectOf(step: RemediationStep): string {
  return step.action === 'call-agent'
    ? `Calls an agent that may use ${step.operations.join(', ')} on this environment for ${step.expiresInSeconds ?? usualSeconds} s.`
    : 'Notifies people.'
}

function factsOf({ environment, remediation }: RunTarget, findings: Seen['findings']) {
  return { environment, trigger: remediation.trigger, findings }
}

/** Performs the steps that are left, in order, until one fails. Everything is one transaction with the run's record. */
export async function act(
  context: Context,
  run: StoredRun,
  target: RunTarget,
  seen: Seen,
): Promise<StepProgress> {
  const plan = planOf(run, target.remediation)
  const progress: StepProgress = { run: { ...run, plan }, wake: [] }
  for (const step of plan.slice(run.steps.length)) {
    try {
      const call = await callOfStep(context.tx, step, factsOf(target, seen.findings))
      const done =
        call === null
          ? await performMessage(context, progress, step, target)
          : performedStep(context, step, call, await perform(context, call, progress))
      progress.run.steps = [...progress.run.steps, done]
    } catch (error) {
      if (error instanceof ApprovalNeeded) return { ...progress, asks: true }
      if (!(error instanceof AppError)) throw error
      return { ...progress, error }
    }
  }
  return progress
}

async function perform(context: Context, call: StepCall, progress: StepProgress): Promise<PerformedStep> {
  const people = { requester: context.caller, approver: null, beyond: false }
  const performed = await context.steps.perform(call, people)
  progress.wake.push(...(performed.outcome.wake ?? []))
  return performed
}

function performedStep(
  { now }: Context,
  { action }: RemediationStep,
  { operation }: StepCall,
  { outcome, auditId }: PerformedStep,
): DoneStep {
  const text = (outcome.effects ?? []).join(' ')
  return { action, outcome: 'done', auditId, at: now, operation: operation.id, text }
}

/** Steps that change nothing by themselves. */
export async function performMessage(
  context: Context,
  progress: StepProgress,
  step: RemediationStep,
  target: RunTarget,
): Promise<DoneStep> {
  const at = context.now
  if (step.action === 'call-agent') {
    const tokenId = await callAgent(context, progress.run, step, target)
    progress.run.tokenIds = [...progress.run.tokenIds, tokenId]
    return { action: step.action, outcome: 'done', auditId: null, at, text: effectOf(step) }
  }
  if (step.action !== 'notify') throw new Error(`${step.action} is an operation`)
  const text = await notifyStep(context, progress.run, step, target)
  return { action: step.action, outcome: 'done', auditId: null, at, text }
}

/** The steps are done: from now on the trigger has to recover. */
export function verifying(
  run: StoredRun,
  { remediation }: RunTarget,
  { now }: Context,
  scaled: (seconds: number) => number,
): StoredRun {
  const seconds = verifySeconds(remediation)
  return {
    ...run,
    status: 'verifying',
    reason: `Its trigger has to recover within ${seconds} s.`,
    verifyFrom: now,
    verifyBy: timestamp(Date.parse(now) + scaled(seconds)),
    healthy: 0,
  }
}

export function textOf({ message, details }: AppError): string {
  return details === undefined ? message : `${message}. ${details}`
}
