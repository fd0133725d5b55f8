import { isDeepStrictEqual } from 'node:util'
import type { ImpactStatement } from '../../contract/impact.ts'
import { updateMemberEnvAccess } from '../../contract/members.ts'
import { type Membership, updateMembership } from '../../store/repositories/accounts.ts'
import { listEnvironmentIds } from '../../store/repositories/environments.ts'
import { handler, noImpact } from '../core/handler.ts'
import { checkedAppEnvIds, envAccessResponse, requireGrantable } from './member-access.ts'

/** An empty or missing list grants full access (2.8); the agent tool also requires `grantFullAccess`. */
export default handler(updateMemberEnvAccess, async ({ tx }, input, { account, membership, member }) => {
  const wanted = input.allowedAppEnvIds ?? []
  requireGrantable(membership, member.allowedAppEnvIds, wanted)
  const draft: Membership = {
    ...member,
    allowedAppEnvIds: await checkedAppEnvIds(tx, account, wanted, member.allowedAppEnvIds),
    revision: member.revision + 1,
  }
  await updateMembership(tx, draft)
  const environments = await listEnvironmentIds(tx, { accountId: account.accountId })
  const there = new Set(environments.map(({ appEnvId }) => appEnvId))
  const describeAccess = ({ allowedAppEnvIds: ids }: Membership) =>
    ids.length === 0
      ? `all ${there.size} environments`
      : `${ids.filter((id) => there.has(id)).length} of ${there.size} environments`
  const later = account.settings.memberEnvAccessEnabled
    ? ''
    : '. Per-environment access is off, so the list takes effect when the setting memberEnvAccessEnabled of the account is turned on'
  const message = `Access changed from ${describeAccess(member)} to ${describeAccess(draft)}${later}`
  return {
    answer: { ...envAccessResponse(account, draft), message },
    change: {
      objectType: 'membership',
      objectId: member.membershipId,
      accountId: account.accountId,
      before: member,
      after: draft,
    },
    impact: changesAccess(member, draft),
    effects: [`${message}.`],
  }
})

/** The list alone changes access, even if the account does not enforce it yet. */
function changesAccess(before: Membership, after: Membership): ImpactStatement {
  return isDeepStrictEqual(before.allowedAppEnvIds, after.allowedAppEnvIds)
    ? noImpact
    : { actions: ['change-access'] }
}
