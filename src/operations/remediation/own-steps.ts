import { operations } from '../../contract/index.ts'
import type { Operation } from '../../contract/operation.ts'
import type { RemediationStep } from '../../contract/remediation-fields.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import type { StoredRemediation } from '../../domain/remediation/remediation.ts'
import { AppError } from '../../errors.ts'
import type { StepCall } from '../core/call.ts'
import type { Context, PreviewedStep } from '../core/handler.ts'
import { refusalOfToken } from '../core/token-limits.ts'
import { callOfStep, fixOperations } from './step-calls.ts'

const byId = new Map(operations.map((row) => [row.id, row]))

/**
 * The caller may do every step itself, and as the mode says: by itself only what no policy asks about. A step that cannot
 * be shown now, such as a rollback without an earlier version, is left to its run, unless an agent wants it in mode auto.
 */
export async function requireOwnSteps(
  context: Context,
  environment: Environment,
  { mode, steps, trigger }: StoredRemediation,
): Promise<void> {
  for (const [index, step] of steps.entries()) {
    const place = `steps[${index}] (${step.action})`
    for (const operation of limitedTo(step)) refuseBeyondToken(context, operation, place)
    const facts = { environment, trigger, findings: null }
    const call = await callOfStep(context.tx, step, facts).catch(unlessRefused(place))
    const shown = call && (await preview(context, call, place))
    if (shown?.beyond) throw beyond(place, 'Your token or your permissions do not allow it.')
    const isKnown = call === null ? step.action === 'notify' || step.action === 'call-agent' : shown !== null
    if (mode !== 'auto') continue
    if (shown?.decision?.effect === 'ask')
      throw beyond(place, `Rule ${shown.decision.ruleId} asks a person about it. Use mode ask.`)
    if (!isKnown && context.caller.actor !== 'person')
      throw beyond(
        place,
        'Its effects cannot be shown now, so only a person may let it run by itself. Use mode ask.',
      )
  }
}

/** Operations whose input is known only when the run is on. */
function limitedTo(step: RemediationStep): readonly Operation[] {
  if (step.action === 'apply-fix') return fixOperations()
  return step.action === 'call-agent' ? step.operations.map((id) => byId.get(id)!) : []
}

function refuseBeyondToken({ caller }: Context, operation: Operation, place: string): void {
  const refusal = refusalOfToken({ caller, operation, input: {} })
  if (refusal) throw beyond(place, `${operation.id}: ${refusal.details ?? refusal.message}`)
}

async function preview(
  { steps, caller }: Context,
  call: StepCall,
  place: string,
): Promise<PreviewedStep | null> {
  // What it may only propose, it may not do.
  const access = { ...caller.token.access, mayPropose: false }
  const itself = { ...caller, token: { ...caller.token, access } }
  const previewed = await steps.preview([call], itself).catch(unlessRefused(place))
  return previewed?.[0] ?? null
}

/** Anything but a refusal is a state that may be another one when the run is on. */
function unlessRefused(place: string) {
  return (error: unknown): null => {
    if (!(error instanceof AppError)) throw error
    if (error.kind === 'forbidden' || error.kind === 'rate-limited' || error.kind === 'not-found')
      throw beyond(place, `${error.message}. ${error.details ?? ''}`.trim())
    return null
  }
}

function beyond(place: string, why: string): AppError {
  return new AppError('forbidden', 'A remediation cannot do more than its author', {
    details: `${place}: ${why}`,
    rule: 'remediation-author',
  })
}
