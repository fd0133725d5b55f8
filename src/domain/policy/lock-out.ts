import type { Impact } from '../../contract/impact.ts'
import type { PolicyContent } from '../../contract/policy.ts'
import type { PolicyCall } from './call.ts'
import { type CompiledPolicy, compilePolicy, decide, policyUpdate } from './decide.ts'

interface Person {
  userId: string
  membershipId: string
  admin: boolean
  manageMembers: boolean
}

/** What update-policy does, for rules over impact. */
export const policyImpact: Impact = {
  actions: ['change-access'],
  environments: [],
  serving: false,
  containersEnded: 0,
  containersStarted: 0,
  downtimeSeconds: 0,
  dataLost: false,
  undo: 'none',
  zCloudsDelta: 0,
  variables: { changed: [], appliedOf: [] },
  peopleNotified: 0,
}

/** The rule that would keep every admin from changing the policy, on every surface of people; null: one can. */
export function lockOutOf(
  content: PolicyContent,
  people: readonly Person[],
  call: Pick<PolicyCall, 'at' | 'accountId'>,
): string | null {
  const policy = compilePolicy({ ...content, mode: 'enforce' })
  let ruleId: string | null = null
  for (const admin of people.filter((one) => one.admin)) {
    for (const surface of ['rest', 'cli', 'console'] as const) {
      const found = refusalOf(policy, people, { ...call, ...updateBy(admin, surface) })
      if (found === null) return null
      ruleId ??= found
    }
  }
  return ruleId
}

function updateBy({ userId, membershipId }: Person, surface: PolicyCall['caller']['surface']) {
  return {
    operation: policyUpdate,
    caller: {
      kind: 'person' as const,
      userId,
      membershipId,
      tokenId: null,
      agent: null,
      agentKey: null,
      surface,
    },
    environments: [],
    impact: policyImpact,
  }
}

/** The rule that stops the call, for good or because too few people could approve it. */
function refusalOf(policy: CompiledPolicy, people: readonly Person[], call: PolicyCall): string | null {
  const { effect, ruleId, approvers } = decide(policy, call, () => ({}))
  if (effect === 'allow') return null
  if (effect === 'deny' || approvers === null) return ruleId
  const { count, needs, notRequester } = approvers
  const able = people.filter(
    (one) =>
      (needs === null || one.admin || (needs === 'manageMembers' && one.manageMembers)) &&
      !(notRequester && one.userId === call.caller.userId),
  )
  return able.length < count ? ruleId : null
}
