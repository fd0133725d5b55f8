import { type Clock, timestamp } from '../../clock.ts'
import type { Tx } from '../../store/db.ts'
import type { Target } from './access-targets.ts'
import { requireNotPaused } from './agents-paused.ts'
import { authorize } from './authorize.ts'
import type { Call } from './call.ts'
import { type Caller, callerOf } from './caller.ts'
import type { Context, Handler } from './handler.ts'
import { type Gated, perform } from './perform.ts'
import { recordWrite } from './record-write.ts'
import type { Trace } from './refusal-audit.ts'
import { checkRevision } from './revision.ts'
import { Steps } from './steps.ts'

export interface AdmissionDeps
  extends Gated,
    Pick<Context, 'secrets' | 'notifications' | 'tokenMail' | 'tokenUses' | 'installation'> {
  clock: Clock
  byId: ReadonlyMap<string, Handler>
}

/** The one way to a handler: the caller, the authorization, and the context and objects that the handler gets. */
export async function admit(
  deps: AdmissionDeps,
  tx: Tx,
  call: Call,
  trace?: Trace,
): Promise<{ context: Context; target: Target }> {
  const { operation, input } = call
  const now = timestamp(deps.clock.wallMs())
  const caller = trace?.caller ?? (await callerOf(tx, call, now))
  if (trace) trace.caller = caller
  const onAccount = (accountId: string) => {
    if (trace) trace.accountId = accountId
  }
  const target = await authorize({ tx, caller, operation, input, dryRun: call.dryRun, onAccount })
  requireNotPaused(caller, operation, target)
  checkRevision(operation.policy, target, input.expectedRevision)
  return { context: contextOf(deps, tx, call, { caller, now }), target }
}

/** What a handler gets besides its objects. */
export function contextOf(
  deps: AdmissionDeps,
  tx: Tx,
  call: Call,
  { caller, now }: { caller: Caller; now: string },
): Context {
  const { secrets, notifications, tokenMail, tokenUses, installation } = deps
  return {
    tx,
    caller,
    surface: call.surface,
    agentSession: call.agentSession,
    agent: call.agent,
    traceparent: call.traceparent,
    apiUrl: addressFor(installation.apiUrl(), call.requestedUrl),
    now,
    secrets,
    notifications,
    tokenMail,
    tokenUses,
    installation,
    steps: stepsIn(deps, tx, call),
  }
}

/** Steps of plans and approvals pass what a call of their own passes. */
function stepsIn(deps: AdmissionDeps, tx: Tx, around: Call): Steps {
  const traceOf = (caller: Caller): Trace => ({ caller, accountId: null, wake: [] })
  return new Steps(tx, around, {
    admit: (call, caller) => admit(deps, tx, call, traceOf(caller)),
    perform: (context, call, target) => {
      const handler = deps.byId.get(call.operation.id)!
      return perform(deps, context, { handler, call, target, trace: traceOf(context.caller) })
    },
    record: (context, call, { outcome, ruling }) => recordWrite(context, call, outcome.change, ruling),
  })
}

/** A server bound to all interfaces has no single address, so links use the address of the request. */
function addressFor(own: string, requestedUrl: string | undefined): string {
  return /^http:\/\/(?:0\.0\.0\.0|\[::\])(?::|$)/.test(own) ? (requestedUrl ?? own) : own
}
