import { sql } from 'kysely'
import type { Policy } from '../../contract/operation.ts'
import { factsOf, type PolicyType, resourceTypes } from '../../contract/resources.ts'
import type { Base } from '../../domain/approvals/approval.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import type { Target } from './access-targets.ts'
import type { Call, StepCall } from './call.ts'
import type { Caller } from './caller.ts'
import { changedPaths } from './diff.ts'
import type {
  Context,
  Outcome,
  PerformedStep,
  PreviewedStep,
  StepOutcome,
  StepPeople,
  StepRunner,
} from './handler.ts'
import { type Located, resourceOf } from './resources.ts'
import { shownChanges } from './visibility.ts'

/** What the runner lends: the one authorization path, and the audit log. */
interface StepsDeps {
  admit(call: Call, caller: Caller): Promise<{ context: Context; target: Target }>
  /** Runs the handler. */
  perform(context: Context, call: Call, target: Target): Promise<StepOutcome>
  /** The id of the audit entry; null if the outcome changed nothing. */
  record(context: Context, call: Call, done: StepOutcome): Promise<string | null>
}

/**
 * Runs calls inside the transaction of another operation, for plans and approvals. Each passes the same authorization as
 * a call of its own.
 */
export class Steps implements StepRunner {
  readonly #tx: Tx
  readonly #around: Call
  readonly #deps: StepsDeps
  readonly #created = new Set<string>()

  constructor(tx: Tx, around: Call, deps: StepsDeps) {
    this.#tx = tx
    this.#around = around
    this.#deps = deps
  }

  /** Runs the calls in order, so that each is shown on top of the ones before, and then rolls all of them back. */
  async preview(calls: readonly StepCall[], caller: Caller): Promise<PreviewedStep[]> {
    const previewed: PreviewedStep[] = []
    await sql`savepoint preview`.execute(this.#tx)
    try {
      for (const [index, step] of calls.entries()) {
        previewed.push(await this.#previewOne(step, caller).catch(inStep(index, calls.length)))
      }
    } catch (error) {
      if (error instanceof AppError) await sql`rollback to savepoint preview`.execute(this.#tx)
      throw error
    }
    await sql`rollback to savepoint preview`.execute(this.#tx)
    await sql`release savepoint preview`.execute(this.#tx)
    return previewed
  }

  async #previewOne(step: StepCall, caller: Caller): Promise<PreviewedStep> {
    const { call, admitted, beyond } = await this.#admitted(step, caller)
    const { context, target } = admitted
    const base = this.#baseOf(call, target)
    // As if approved: a rule that asks is what the approval is for, and one that denies refuses it now.
    const { outcome, ruling } = await this.#deps.perform(context, { ...call, approval: 'preview' }, target)
    this.#noteCreated(outcome)
    const { change, effects = [] } = outcome
    const changes = change ? shownChanges(target, change, changedPaths(change.before, change.after)) : []
    return { changes, effects, impact: ruling.facts.impact, base, beyond, decision: ruling.enforced }
  }

  /** Runs one call for good; what it did is undone if it fails with an `AppError`, and only then. */
  async perform(step: StepCall, people: StepPeople, approvalId?: string): Promise<PerformedStep> {
    await sql`savepoint step`.execute(this.#tx)
    try {
      const performed = await this.#perform(step, people, approvalId)
      await sql`release savepoint step`.execute(this.#tx)
      return performed
    } catch (error) {
      if (error instanceof AppError) await sql`rollback to savepoint step`.execute(this.#tx)
      throw error
    }
  }

  async #perform(step: StepCall, people: StepPeople, approvalId?: string): Promise<PerformedStep> {
    const { requester, approver, beyond } = people
    const call = { ...this.#callOf(step), approval: approvalId }
    const approved = approver && (await this.#deps.admit(call, approver).catch(refusedToApprover))
    const own = await this.#deps.admit(beyond ? beyondLimits(call) : call, requester)
    const target = beyond && approved ? approved.target : own.target
    const base = this.#baseOf(call, target)
    const done = await this.#deps.perform(own.context, call, target)
    this.#noteCreated(done.outcome)
    const auditId = await this.#deps.record(own.context, call, done)
    return { ...done, base, auditId }
  }

  /** The caller's own rights; if they do not suffice and it may propose, the rights of its user to see the object. */
  async #admitted(step: StepCall, caller: Caller) {
    const call = this.#callOf(step)
    try {
      return { call, admitted: await this.#deps.admit(call, caller), beyond: false }
    } catch (error) {
      if (!mayPropose(caller) || !(error instanceof AppError) || error.kind !== 'forbidden') throw error
      const { context, target } = await this.#deps.admit(beyondLimits(call), caller)
      return { call, admitted: { context, target: withRightsOfApprover(target) }, beyond: true }
    }
  }

  #callOf({ operation, input }: StepCall): Call {
    const { also: _, ...around } = this.#around
    return { ...around, operation, input, idempotencyKey: null, dryRun: false }
  }

  /** The objects that the step is about, with their revisions. One that an earlier step creates has no id to compare. */
  #baseOf({ operation }: Call, target: Target): Base[] {
    return resourceTypes.flatMap((type) => {
      const key = factsOf(type).key
      const object = key && (target[key] as Located | undefined)
      // Every step loads the account; only a change of the account itself rests on its revision.
      if (!object || (type === 'account' && operation.id !== 'update-account')) return []
      const revision = resourceOf(type as PolicyType).revision?.(object)
      if (revision === undefined) return []
      const id = String((object as Located & Record<string, unknown>)[idFieldOf(type as PolicyType)])
      return [{ type, id: this.#created.has(id) ? 'new' : id, revision }]
    })
  }

  #noteCreated({ change }: Outcome<unknown>): void {
    for (const one of change ? [change, ...(change.alsoChanged ?? [])] : [])
      if (one.before === null) this.#created.add(one.objectId)
  }
}

function idFieldOf(type: PolicyType): string {
  return factsOf(type).idFields[0]!
}

/** The person who decides may not do this: the decision is refused, and the approval keeps waiting. */
export class ApproverRefused extends AppError {}

function refusedToApprover(error: unknown): never {
  if (!(error instanceof AppError)) throw error
  const { kind, message, details, rule, cause } = error
  throw new ApproverRefused(kind, message, {
    details: `You cannot approve what you may not do yourself. ${details ?? ''}`.trim(),
    ...(rule === undefined ? {} : { rule }),
    cause,
  })
}

/** Agents by their token; people whose token has no limits of its own. */
function mayPropose({ actor, token }: Caller): boolean {
  return token.access.mayPropose || (actor === 'person' && !token.readOnly && token.scopes === null)
}

/** Neither the limits of the token nor a missing permission count, but the objects that its user may see do. */
function beyondLimits(call: Call): Call {
  const { needs: _, ...policy } = call.operation.policy as Policy & { needs?: unknown }
  return { ...call, dryRun: true, operation: { ...call.operation, policy: policy as Policy } }
}

/** For a preview only: the approver's permissions count when it runs. */
function withRightsOfApprover(target: Target): Target {
  const { membership } = target as { membership?: object | null }
  return membership ? { ...target, membership: { ...membership, admin: true, manageMembers: true } } : target
}

/** Names the step that a plan fails at. */
function inStep(index: number, count: number) {
  return (error: unknown): never => {
    if (!(error instanceof AppError) || count === 1) throw error
    const { kind, message, details, rule, retryAfterSeconds, cause } = error
    throw new AppError(kind, message, {
      details: `Step ${index + 1} of ${count}: ${details ?? message}`,
      ...(rule === undefined ? {} : { rule }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      cause,
    })
  }
}
