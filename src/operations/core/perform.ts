import type { Impact } from '../../contract/impact.ts'
import type { Target } from './access-targets.ts'
import { backAndForth } from './back-and-forth.ts'
import type { Call } from './call.ts'
import { checkClaims } from './claim-check.ts'
import type { Context, Handler, Outcome } from './handler.ts'
import { completeImpact, type IsUndoable } from './impact.ts'
import { type PolicyGate, withLoop } from './policy-gate.ts'
import type { Trace } from './refusal-audit.ts'
import type { Ruling } from './ruling.ts'

export interface Gated {
  gate: PolicyGate
  isUndoable: IsUndoable
}

interface Performing {
  call: Call
  target: Target
  trace: Trace
}

/** Runs the handler, completes the impact of what it saved, and decides it. The transaction can still be rolled back. */
export async function perform(
  gated: Gated,
  context: Context,
  { handler, ...performing }: Performing & { handler: Handler },
): Promise<{ outcome: Outcome<unknown>; ruling: Ruling }> {
  const outcome = await handler.run(context, performing.call.input, performing.target)
  return { outcome, ruling: await decided(gated, context, performing, outcome) }
}

/** A dry run is only decided; any other call is refused where the decision says so. */
export async function decided(
  { gate, isUndoable }: Gated,
  context: Context,
  { call, target, trace }: Performing,
  outcome: Outcome<unknown>,
): Promise<Ruling> {
  const impact: Impact = await completeImpact(context, target, outcome, isUndoable)
  const policies = await gate.decide(context, call, target, { outcome, impact })
  const loop = withLoop(policies, await backAndForth(context, outcome.change))
  const claims = await checkClaims(context, impact.environments)
  const ruling = { ...loop, warnings: [...loop.warnings, ...claims] }
  trace.ruling = ruling
  if (!call.dryRun) await gate.require(ruling, context, call)
  return ruling
}

/** Budgets beyond their soft limit, and claims, are named in the answer too. */
export function withWarnings(answer: unknown, { warnings }: Ruling): unknown {
  return warnings.length === 0 ? answer : { ...(answer as object), policyWarnings: warnings }
}
