import type { Impact } from '../../contract/impact.ts'
import { operations } from '../../contract/index.ts'
import { explainPolicy } from '../../contract/policy.ts'
import type { PolicyDecision } from '../../contract/policy-decision.ts'
import { isDecided } from '../../domain/policy/validate.ts'
import { AppError } from '../../errors.ts'
import { handler } from '../core/handler.ts'

/** A dry run of the call, of which only the decision is answered; a refusal for another reason counts as a denial. */
export default handler(explainPolicy, async (_context, { operation: id, input }) => {
  const row = operations.find((one) => one.id === id)
  if (!row || !isDecided(row)) {
    throw new AppError('invalid', 'There is no such write', {
      details: `operation must be the id of a write, such as stop-app-env; policies do not decide over ${id}.`,
    })
  }
  const parsed = row.input.safeParse(input)
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!
    throw new AppError('invalid', 'Invalid request', { details: `input.${path.join('.')}: ${message}` })
  }
  const unknown = {
    effect: 'allow' as const,
    ruleId: null,
    message: null,
    mode: 'enforce' as const,
    budgets: [],
    impact: null,
  }
  return {
    answer: { operation: id, ...unknown },
    impact: { actions: ['none'] },
    async afterRead(_answer, { rehearse }) {
      try {
        const { policy, impact } = (await rehearse(row, parsed.data)) as {
          policy: PolicyDecision
          impact: Impact
        }
        return { operation: id, ...policy, impact }
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        const message = [error.message, error.details].filter(Boolean).join(': ')
        return { operation: id, ...unknown, effect: 'deny' as const, ruleId: error.rule ?? null, message }
      }
    },
  }
})
