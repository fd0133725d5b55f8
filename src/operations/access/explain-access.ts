import { explainAccess } from '../../contract/audit.ts'
import { mayAccess } from '../../domain/access/environment-access.ts'
import { type Account, listMembersOfAccount, type Membership } from '../../store/repositories/accounts.ts'
import { handler } from '../core/handler.ts'

/** Without admin or Manage Members, callers get only their own row. */
export default handler(explainAccess, async ({ tx }, _input, { environment, account, membership }) => {
  const { appEnvId, accountId } = environment
  const seesAll = membership?.admin || membership?.manageMembers
  const members = (await listMembersOfAccount(tx, accountId))
    .filter((one) => one.membership.invitation === null)
    .filter((one) => seesAll || one.membership.membershipId === membership?.membershipId)
    .map(({ membership: member, email, name }) => {
      const operates = mayAccess(account, member, appEnvId)
      return {
        membershipId: member.membershipId,
        email,
        name,
        operates,
        seesSecrets: operates && member.admin,
        changesAlerts: operates && member.admin,
        configuresAccess: member.admin || member.manageMembers,
        because: reasons(account, member, appEnvId),
      }
    })
  const enabled = account.settings.memberEnvAccessEnabled
  return { answer: { appEnvId, enabled, complete: seesAll === true, members } }
})

function reasons(account: Account, member: Membership, appEnvId: string): string[] {
  const lines: string[] = []
  const { allowedAppEnvIds } = member
  if (!account.settings.memberEnvAccessEnabled) {
    lines.push('M5: per-environment access is off, so every member can access every environment')
  } else if (allowedAppEnvIds.length === 0) lines.push('M5: no list is configured, so access is full')
  else if (allowedAppEnvIds.includes(appEnvId))
    lines.push('M1: the environment is on the list of this member')
  else lines.push('M2: the environment is not on the list of this member; operations on it are refused')
  lines.push(
    member.admin
      ? 'A3: an admin can decrypt secrets and change alerts and contact points'
      : 'A3: not an admin, so cannot decrypt secrets or change alerts',
  )
  if (member.admin) lines.push('M8: an admin can configure access')
  else if (member.manageMembers)
    lines.push('A4: Manage Members can configure access, even with restricted access (M6)')
  return lines
}
