import type { OutputOf } from '../../contract/operation.ts'
import type { Budget, getPolicy } from '../../contract/policy.ts'
import { subjectIn, usedOf } from '../../domain/policy/budgets.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { listUsage } from '../../store/repositories/policies.ts'
import { findUsers } from '../../store/repositories/users.ts'
import type { Context } from '../core/handler.ts'

type BudgetUse = NonNullable<OutputOf<typeof getPolicy>['usage']>[number]

const mostShown = 100

/** What was used of the budgets in their windows, the fullest first. */
export async function budgetUsage(
  { tx, now }: Context,
  accountId: string,
  budgets: readonly Budget[],
): Promise<BudgetUse[]> {
  const found: BudgetUse[] = []
  for (const [key, usage] of await listUsage(tx, accountId))
    for (const budget of budgets) {
      const subject = subjectIn(budget, key)
      if (subject === null) continue
      const { used, resetsAt } = usedOf(budget, usage, now)
      if (used === 0) continue
      // An agent is known as the one of a user.
      const [subjectId = '', ...agent] = budget.of === 'agent' ? subject.split(' ') : [subject]
      const { id: budgetId, of, meter, window, hard, soft = null } = budget
      const limits = { budgetId, of, meter, window, hard, soft }
      found.push({ ...limits, subjectId, agent: agent.join(' ') || null, name: null, used, resetsAt })
    }
  const share = ({ used, hard }: BudgetUse) => used / Math.max(hard, 1)
  const shown = found.sort((one, other) => share(other) - share(one)).slice(0, mostShown)
  const users = await findUsers(tx, [...new Set(shown.map(({ subjectId }) => subjectId))])
  for (const use of shown)
    use.name =
      users.get(use.subjectId)?.name ??
      (await findEnvironment(tx, { appEnvId: use.subjectId }))?.cliEnvName ??
      null
  return shown
}
