import type { Impact } from '../../contract/impact.ts'
import { operations } from '../../contract/index.ts'
import type { PolicyContent } from '../../contract/policy.ts'
import { chargesOf, withUnits } from '../../domain/policy/budgets.ts'
import { type PolicyCall, successKey } from '../../domain/policy/call.ts'
import {
  type CompiledPolicy,
  compilePolicy,
  type Decision,
  decide,
  loopDecision,
} from '../../domain/policy/decide.ts'
import { problemOf } from '../../domain/policy/validate.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { findPolicy, findUsage, saveUsage } from '../../store/repositories/policies.ts'
import { lastSuccess } from '../../store/repositories/successes.ts'
import type { EnvironmentTarget, Target } from './access-targets.ts'
import type { Call } from './call.ts'
import type { Context, Outcome } from './handler.ts'
import { policyCallOf } from './policy-facts.ts'
import type { Ruling, Spent } from './ruling.ts'

/** Thrown in the transaction of a write, which is rolled back: the write waits for people. */
export class ApprovalNeeded extends AppError {
  constructor({ ruleId, message }: Decision) {
    super('forbidden', 'Approval required', {
      details: `${reasonOf(ruleId, message)} A person must agree to it.`,
      rule: 'policy',
    })
  }
}

const mostCompiled = 1_000

/** Decides writes by the policies of their account and of the platform. */
export class PolicyGate {
  readonly #platform: CompiledPolicy | null
  /** By account, in the order of their last use. */
  readonly #compiled = new Map<string, { revision: number; policy: CompiledPolicy }>()

  constructor(platform: PolicyContent | null) {
    const found = platform && problemOf(platform, { operations, members: null, tokens: null })
    if (found) {
      throw new AppError('invalid', 'Configuration cannot be used', {
        details: `LONGSHORE_CONFIG: policy.${found.place}: ${found.problem}`,
      })
    }
    this.#platform = platform && compilePolicy(platform)
  }

  /** Decides a write whose impact is known, in its own transaction. */
  async decide(
    context: Context,
    call: Call,
    target: Target,
    { outcome, impact }: { outcome: Outcome<unknown>; impact: Impact },
  ): Promise<Ruling> {
    const { tx } = context
    const facts = await policyCallOf(context, call, target, outcome, impact)
    const policies = await this.#policiesOf(tx, target)
    if (policies.length === 0) return { facts, enforced: null, shown: null, warnings: [], spent: [] }
    await addSuccesses(tx, facts, policies)
    const rulings = []
    for (const policy of policies) rulings.push(await decideOne(tx, policy, facts))
    const spent = rulings.flatMap((one) => one.spent)
    return {
      ...rulingOf(
        facts,
        rulings.map(({ decision }) => decision),
      ),
      spent,
    }
  }

  /** Reserves the units of budgets. Throws `AppError` unless the write may be saved. */
  async require(ruling: Ruling, { tx }: Context, { approval }: Call): Promise<void> {
    const { enforced, facts, spent } = ruling
    if (enforced?.effect === 'deny') throw denied(enforced, ruling)
    if (enforced?.effect === 'ask' && approval === undefined) throw new ApprovalNeeded(enforced)
    for (const { budget, key, units, usage } of spent)
      await saveUsage(tx, facts.accountId ?? '', key, withUnits(budget, usage, { at: facts.at, units }))
  }

  async #policiesOf(tx: Tx, { account }: Target & Partial<EnvironmentTarget>): Promise<CompiledPolicy[]> {
    const own = account && account.policyRevision > 0 ? await this.#ownOf(tx, account) : null
    return [this.#platform, own].filter((one) => one !== null)
  }

  async #ownOf(
    tx: Tx,
    { accountId, policyRevision }: EnvironmentTarget['account'],
  ): Promise<CompiledPolicy | null> {
    const known = this.#compiled.get(accountId)
    if (known?.revision === policyRevision) return known.policy
    const stored = await findPolicy(tx, accountId)
    if (!stored) return null
    const policy = compilePolicy(stored.content)
    this.#compiled.delete(accountId)
    this.#compiled.set(accountId, { revision: stored.revision, policy })
    if (this.#compiled.size > mostCompiled) this.#compiled.delete(this.#compiled.keys().next().value!)
    return policy
  }
}

async function addSuccesses(tx: Tx, facts: PolicyCall, policies: readonly CompiledPolicy[]): Promise<void> {
  const operations = new Set(policies.flatMap(({ after }) => after))
  if (operations.size === 0) return
  const succeeded: Record<string, string> = {}
  for (const operation of operations) {
    for (const { appEnvId } of facts.environments) {
      const at = await lastSuccess(tx, { operation, appEnvId, until: facts.at })
      if (at !== null) succeeded[successKey(operation, appEnvId)] = at
    }
  }
  facts.succeeded = succeeded
}

async function decideOne(
  tx: Tx,
  policy: CompiledPolicy,
  facts: PolicyCall,
): Promise<{ decision: Decision; spent: Spent[] }> {
  const charges = chargesOf(policy.content.budgets, facts)
  const keys = charges.map(({ key }) => key)
  const found = await findUsage(tx, facts.accountId ?? '', keys)
  const usageOf = (key: string) => found.get(key) ?? {}
  const spent = charges.map((charge) => ({ ...charge, usage: usageOf(charge.key) }))
  return { decision: decide(policy, facts, usageOf), spent }
}

/** The strictest decision, of all policies and of those in force. */
function rulingOf(facts: PolicyCall, decisions: readonly Decision[]): Omit<Ruling, 'spent'> {
  const strictness = ({ effect, mode }: Decision) =>
    ['allow', 'ask', 'deny'].indexOf(effect) * 2 + (mode === 'enforce' ? 1 : 0)
  const strictest = (list: readonly Decision[]) =>
    [...list].sort((a, b) => strictness(b) - strictness(a))[0] ?? null
  const budgets = decisions.flatMap((one) => one.budgets)
  const [enforced, all] = [
    strictest(decisions.filter(({ mode }) => mode === 'enforce')),
    strictest(decisions),
  ]
  // What is enforced is shown; what is only observed, where nothing is.
  const shown = enforced && enforced.effect !== 'allow' ? enforced : all
  const warnings = decisions.flatMap(({ warnings: ids }) => ids).map((id) => warningOf(id, budgets))
  return { facts, enforced, shown: shown && { ...shown, budgets }, warnings }
}

/** A field that is set back and forth asks, whatever the policies allow. */
export function withLoop(ruling: Ruling, field: string | null): Ruling {
  const { enforced } = ruling
  if (field === null || (enforced && enforced.effect !== 'allow')) return ruling
  const decision = loopDecision(`${field} was set back and forth three times within an hour.`)
  return { ...ruling, enforced: decision, shown: { ...decision, budgets: ruling.shown?.budgets ?? [] } }
}

function warningOf(id: string, budgets: Decision['budgets']): string {
  const { used, limit, resetsAt } = budgets.find((one) => one.id === id)!
  return `The budget ${id} is nearly used up: ${used} of ${limit} were used before this${resetsAt === null ? '' : `; the oldest count until ${resetsAt}`}.`
}

function denied({ by, ruleId, message, budgets }: Decision, { facts, spent }: Ruling): AppError {
  const charge = spent.find(({ budget }) => budget.id === ruleId)
  if (by !== 'budget' || !charge)
    return new AppError('forbidden', 'Denied by policy', {
      details: reasonOf(ruleId, message),
      rule: 'policy',
    })
  const { budget, units } = charge
  const { used, limit, resetsAt } = budgets.find(({ id }) => id === ruleId)!
  const until = resetsAt === null ? 'This call alone is over it.' : `The oldest count until ${resetsAt}.`
  return new AppError('rate-limited', 'Budget used up', {
    details: `The budget ${ruleId} allows ${limit} ${budget.meter} in ${budget.window} for each ${budget.of}; ${used} are used and this call needs ${units}. ${until}`,
    rule: 'policy',
    ...(resetsAt !== null && {
      retryAfterSeconds: Math.max(1, Math.ceil((Date.parse(resetsAt) - Date.parse(facts.at)) / 1000)),
    }),
  })
}

function reasonOf(ruleId: string | null, message: string | null): string {
  return `Rule ${ruleId}: ${message ?? 'the policy of the account says so.'}`
}
