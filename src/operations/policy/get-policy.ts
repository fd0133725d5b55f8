import { getPolicy } from '../../contract/policy.ts'
import { handler } from '../core/handler.ts'
import { budgetUsage } from './budget-usage.ts'

export default handler(getPolicy, async (context, { withUsage }, { policy, membership }) => {
  const { accountId, revision, content } = policy
  const platform = context.installation.policy
  const budgets = [...content.budgets, ...(platform?.budgets ?? [])]
  const usage = withUsage && membership.admin ? await budgetUsage(context, accountId, budgets) : null
  return { answer: { accountId, ...content, revision, platform, usage } }
})
