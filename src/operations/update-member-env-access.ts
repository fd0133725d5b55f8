import { updateMemberEnvAccess } from '../contract/members.ts'
import { type Membership, updateMembership } from '../store/accounts.ts'
import { listEnvironmentIds } from '../store/environments.ts'
import { handler } from './handler.ts'
import { checkedAppEnvIds, envAccessAnswer } from './member-access.ts'

/** Empty or missing grants full access (interface.md 4.4); the agent tool asks for more than that. */
export default handler(updateMemberEnvAccess, async ({ tx }, input, { account, member }) => {
  const wanted = input.allowedAppEnvIds ?? []
  const draft: Membership = {
    ...member,
    allowedAppEnvIds: await checkedAppEnvIds(tx, account, wanted, member.allowedAppEnvIds),
    revision: member.revision + 1,
  }
  await updateMembership(tx, draft)
  const environments = await listEnvironmentIds(tx, { accountId: account.accountId })
  const there = new Set(environments.map(({ appEnvId }) => appEnvId))
  const reach = ({ allowedAppEnvIds: ids }: Membership) =>
    ids.length === 0
      ? `all ${there.size} environments`
      : `${ids.filter((id) => there.has(id)).length} of ${there.size} environments`
  const later = account.settings.memberEnvAccessEnabled
    ? ''
    : '. Per-environment access is switched off: the list counts once it is on'
  const message = `Access changed from ${reach(member)} to ${reach(draft)}${later}`
  return {
    answer: { ...envAccessAnswer(account, draft), message },
    change: {
      objectType: 'membership',
      objectId: member.membershipId,
      accountId: account.accountId,
      before: member,
      after: draft,
    },
    effects: [`${message}.`],
  }
})
