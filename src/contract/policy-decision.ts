import { z } from 'zod'
import { isoTime } from './fields.ts'

export const policyModes = ['observe', 'enforce'] as const
export const policyEffects = ['allow', 'ask', 'deny'] as const
export type PolicyEffect = (typeof policyEffects)[number]

/** The decision about one call: in dry runs and audit entries (docs/autonomy.md#policy). */
export const policyDecision = z.object({
  effect: z.enum(policyEffects),
  ruleId: z.string().nullable().describe('Rule, freeze or budget that decided; null: none matched'),
  message: z.string().nullable(),
  mode: z.enum(policyModes).describe('observe: nothing is stopped'),
  budgets: z.array(
    z.object({ id: z.string(), used: z.number(), limit: z.number(), resetsAt: isoTime.nullable() }),
  ),
})
export type PolicyDecision = z.output<typeof policyDecision>
