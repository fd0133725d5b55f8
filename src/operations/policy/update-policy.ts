import { operations } from '../../contract/index.ts'
import type { InputOf } from '../../contract/operation.ts'
import { type PolicyContent, policyContent, updatePolicy } from '../../contract/policy.ts'
import { lockOutOf, policyImpact } from '../../domain/policy/lock-out.ts'
import { startingPolicy } from '../../domain/policy/starting.ts'
import { problemOf } from '../../domain/policy/validate.ts'
import { AppError } from '../../errors.ts'
import { listMembersOfAccount } from '../../store/repositories/accounts.ts'
import { savePolicy } from '../../store/repositories/policies.ts'
import { listTokensOfUser } from '../../store/repositories/tokens.ts'
import { type Context, handler } from '../core/handler.ts'

export default handler(updatePolicy, async (context, input, { account, policy: before }) => {
  const { accountId } = account
  const content = await checked(context, accountId, contentOf(input, before.content))
  const after = { accountId, content, revision: before.revision + 1 }
  await savePolicy(context.tx, after)
  return {
    answer: { message: 'Policy updated', policy: { accountId, ...content, revision: after.revision } },
    change: {
      objectType: 'policy',
      objectId: accountId,
      accountId,
      before: { ...before.content, revision: before.revision },
      after: { ...content, revision: after.revision },
    },
    impact: { actions: policyImpact.actions, undo: policyImpact.undo },
    effects: [
      content.mode === 'enforce'
        ? 'Decides every write from the next one on.'
        : 'Stops nothing: the audit log says what it would have decided.',
    ],
  }
})

/** Parts that are not given stay as they are, or as in the starting policy. */
function contentOf(input: InputOf<typeof updatePolicy>, before: PolicyContent): PolicyContent {
  const { start, policy: nested } = input
  const base = start === undefined ? before : startingPolicy(start)
  const content = {
    mode: input.mode ?? nested?.mode ?? base.mode,
    rules: input.rules ?? nested?.rules ?? base.rules,
    freezes: input.freezes ?? nested?.freezes ?? base.freezes,
    budgets: input.budgets ?? nested?.budgets ?? base.budgets,
  }
  const parsed = policyContent.safeParse(content)
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  throw invalid(
    path
      .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
      .join('')
      .slice(1),
    message,
  )
}

/** Refuses what can never match, and what no admin could change any more. */
async function checked(
  { tx, now }: Context,
  accountId: string,
  content: PolicyContent,
): Promise<PolicyContent> {
  const members = (await listMembersOfAccount(tx, accountId)).map(({ membership }) => membership)
  const accepted = members.filter(({ invitation }) => invitation === null)
  const named = content.rules.some(({ who }) => who?.tokens) || content.freezes.some(({ who }) => who?.tokens)
  const tokens = new Set<string>()
  for (const { userId } of named ? accepted : [])
    for (const { tokenId } of await listTokensOfUser(tx, userId)) tokens.add(tokenId)
  const known = { operations, members: new Set(members.map(({ membershipId }) => membershipId)), tokens }
  const found = problemOf(content, known)
  if (found) throw invalid(found.place, found.problem)
  const ruleId = lockOutOf(content, accepted, { at: now, accountId })
  if (ruleId === null) return content
  const index = content.rules.findIndex(({ id }) => id === ruleId)
  throw invalid(`rules[${index}]`, `${ruleId} would keep every admin from changing the policy`)
}

function invalid(place: string, problem: string): AppError {
  return new AppError('invalid', 'The policy cannot be used', { details: `${place}: ${problem}.` })
}
