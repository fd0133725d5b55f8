import type { Charge, Usage } from '../../domain/policy/budgets.ts'
import type { PolicyCall } from '../../domain/policy/call.ts'
import type { Decision } from '../../domain/policy/decide.ts'

/** The decision about one write, and the facts that it was made over. */
export interface Ruling {
  facts: PolicyCall
  /** What the policies in force say. */
  enforced: Decision | null
  /** The same, or what a policy that only observes would say; null without policies. */
  shown: Decision | null
  /** Sentences about budgets that are nearly used up. */
  warnings: string[]
  spent: readonly Spent[]
}

/** Units of a budget that the write takes, and the usage before it. */
export interface Spent extends Charge {
  usage: Usage
}
