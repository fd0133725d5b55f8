import type { Budget, PolicyContent, Rule } from '../../contract/policy.ts'
import type { PolicyDecision, PolicyEffect } from '../../contract/policy-decision.ts'
import { chargesOf, type Usage, usedOf } from './budgets.ts'
import { type PolicyCall, successKey } from './call.ts'
import { holds } from './conditions.ts'
import { freezeTest } from './freezes.ts'
import { scopeTest } from './matching.ts'

/** Who must agree to a call, the strictest of all rules that ask. */
interface Approvers {
  count: number
  notRequester: boolean
  needs: 'admin' | 'manageMembers' | null
  expiresSeconds: number
  reasonRequired: boolean
}

export interface Decision extends PolicyDecision {
  /** What kind of part decided; null: none matched. */
  by: 'rule' | 'freeze' | 'budget' | null
  /** Set if the effect is ask. */
  approvers: Approvers | null
  /** Budgets beyond their soft limit with this call. */
  warnings: string[]
}

/** A policy made ready for many decisions. */
export interface CompiledPolicy {
  content: PolicyContent
  rules: readonly { rule: Rule; matches: (call: PolicyCall) => boolean }[]
  freezes: readonly { id: string; message: string | null; isOn: (call: PolicyCall) => boolean }[]
  /** Operations whose last success decisions need. */
  after: readonly string[]
}

/** The operation that changes the policy: neither freezes nor budgets apply, or no admin could lift them. */
export const policyUpdate = 'update-policy'

const daySeconds = 86_400

export function compilePolicy(content: PolicyContent): CompiledPolicy {
  const byId = <T extends { id: string }>(list: readonly T[]) =>
    [...list].sort((a, b) => (a.id < b.id ? -1 : 1))
  return {
    content,
    // By id, so that the order in which rules are written decides nothing, not even which one is named.
    rules: byId(content.rules).map((rule) => ({ rule, matches: ruleTest(rule) })),
    freezes: byId(content.freezes).map((freeze) => {
      const [isInScope, isInTime] = [scopeTest(freeze), freezeTest(freeze)]
      const isOn = (call: PolicyCall) => isInScope(call) && isInTime(call.at)
      return { id: freeze.id, message: freeze.message ?? null, isOn }
    }),
    after: [...new Set(content.rules.flatMap(({ after }) => (after ? [after.operation] : [])))],
  }
}

function ruleTest({ who, on, when = [] }: Rule): (call: PolicyCall) => boolean {
  const isInScope = scopeTest({ who, on })
  return (call) => isInScope(call) && when.every((condition) => holds(condition, call.impact))
}

/**
 * Decides one call: deny wins over ask, ask over allow, and without a match it is allowed. `usageOf` has the used units of a
 * budget's key, without this call.
 */
export function decide(policy: CompiledPolicy, call: PolicyCall, usageOf: (key: string) => Usage): Decision {
  const matching = policy.rules.flatMap(({ rule, matches }) => {
    const effect = matches(call) ? effectOf(rule, call) : null
    return effect === null ? [] : [{ rule, effect }]
  })
  const isUnlimited = call.operation === policyUpdate || call.isStopSwitch === true
  const freeze = isUnlimited ? undefined : policy.freezes.find(({ isOn }) => isOn(call))
  const spending = isUnlimited ? [] : spendingOf(policy.content.budgets, call, usageOf)
  const over = spending.filter(({ isOver }) => isOver)
  const first = (effect: PolicyEffect) => matching.find((one) => one.effect === effect)?.rule
  const denied = call.isStopSwitch ? undefined : first('deny')
  const asks = call.isStopSwitch ? [] : matching.filter(({ effect }) => effect === 'ask')
  const overDeny = over.find(({ budget }) => budget.onHard === 'deny')?.budget
  const overAsk = over.find(({ budget }) => budget.onHard === 'ask')?.budget
  const rest = {
    mode: policy.content.mode,
    budgets: spending.map(({ budget, used, resetsAt }) => ({
      id: budget.id,
      used,
      limit: budget.hard,
      resetsAt,
    })),
    warnings: spending.filter(({ isSoft }) => isSoft).map(({ budget }) => budget.id),
    approvers: null,
  }
  const by = (
    effect: PolicyEffect,
    kind: Decision['by'],
    part?: { id: string; message?: string | null | undefined },
  ) => ({
    ...rest,
    effect,
    by: kind,
    ruleId: part?.id ?? null,
    message: part?.message ?? null,
  })
  if (denied) return by('deny', 'rule', denied)
  if (freeze) return by('deny', 'freeze', freeze)
  if (overDeny) return by('deny', 'budget', overDeny)
  const approvers = approversOf(asks.map(({ rule }) => rule))
  if (asks[0]) return { ...by('ask', 'rule', asks[0].rule), approvers }
  if (overAsk) return { ...by('ask', 'budget', overAsk), approvers }
  const allowed = first('allow')
  return allowed ? by('allow', 'rule', allowed) : by('allow', null)
}

/** An allow with `after` allows only after it; asks and denials with `after` count only after it. */
function effectOf({ effect, after }: Rule, call: PolicyCall): PolicyEffect | null {
  if (after === undefined || succeeded(after, call)) return effect
  return effect === 'allow' ? 'deny' : null
}

/** On every environment that the call affects. */
function succeeded(
  { operation, withinSeconds }: NonNullable<Rule['after']>,
  { at, environments, succeeded: times = {} }: PolicyCall,
): boolean {
  const since = Date.parse(at) - withinSeconds * 1000
  return (
    environments.length > 0 &&
    environments.every(({ appEnvId }) => {
      const last = times[successKey(operation, appEnvId)]
      return last !== undefined && Date.parse(last) >= since
    })
  )
}

function spendingOf(budgets: readonly Budget[], call: PolicyCall, usageOf: (key: string) => Usage) {
  const charges = chargesOf(budgets, call)
  return charges.map(({ budget, key, units }) => {
    const { used, resetsAt } = usedOf(budget, usageOf(key), call.at)
    const next = used + units
    return {
      budget,
      used,
      resetsAt,
      isOver: next > budget.hard,
      isSoft: next > (budget.soft ?? Number.POSITIVE_INFINITY),
    }
  })
}

function approversOf(rules: readonly Rule[]): Approvers {
  const all = rules.map(({ approvers }) => approvers)
  const needs = all.map((one) => one?.needs)
  return {
    count: Math.max(1, ...all.map((one) => one?.count ?? 1)),
    notRequester: all.some((one) => one?.notRequester),
    needs: needs.includes('admin') ? 'admin' : needs.includes('manageMembers') ? 'manageMembers' : null,
    expiresSeconds: Math.min(
      ...rules.map(({ expiresSeconds = daySeconds }) => expiresSeconds),
      rules.length === 0 ? daySeconds : Number.POSITIVE_INFINITY,
    ),
    reasonRequired: rules.some(({ reasonRequired }) => reasonRequired),
  }
}

/** The decision as answers and the audit log show it; without a policy everything is allowed. */
export function decisionShown(decision: Decision | null): PolicyDecision {
  const { effect = 'allow', ruleId = null, message = null, mode = 'enforce', budgets = [] } = decision ?? {}
  return { effect, ruleId, message, mode, budgets }
}

/** Asks any person for a call that looks like a loop. */
export function loopDecision(message: string): Decision {
  return {
    ...{ effect: 'ask', by: 'rule', ruleId: 'loop-breaker', message, mode: 'enforce' },
    budgets: [],
    warnings: [],
    approvers: approversOf([]),
  }
}
