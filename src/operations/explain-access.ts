import { explainAccess } from '../contract/audit.ts'
import { type Account, listMembersOfAccount, type Membership } from '../store/accounts.ts'
import { handler } from './handler.ts'
import { mayReach } from './reach.ts'

/** Who can do what on an environment and by which rule; without Manage Members only about oneself. */
export default handler(explainAccess, async ({ tx }, _input, { environment, account, membership }) => {
  const { appEnvId, accountId } = environment
  const seesAll = membership?.admin || membership?.manageMembers
  const members = (await listMembersOfAccount(tx, accountId))
    .filter((one) => seesAll || one.membership.membershipId === membership?.membershipId)
    .map(({ membership: member, email, name }) => {
      const operates = mayReach(account, member, appEnvId)
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
  const said: string[] = []
  const { allowedAppEnvIds } = member
  if (!account.settings.memberEnvAccessEnabled) {
    said.push('M5: per-environment access is off, so every member reaches every environment')
  } else if (allowedAppEnvIds.length === 0) said.push('M5: no list is configured, so access is full')
  else if (allowedAppEnvIds.includes(appEnvId)) said.push('M1: the environment is on the list of this member')
  else said.push('M2: the environment is not on the list of this member; operations on it are refused')
  said.push(
    member.admin
      ? 'A3: an admin decrypts secrets and changes alerts and contact points'
      : 'A3: not an admin, so no secrets in clear and no changes of alerts',
  )
  if (member.admin) said.push('M8: an admin configures access')
  else if (member.manageMembers)
    said.push('A4: Manage Members configures access, own restrictions or not (M6)')
  return said
}
