import { listMembers } from '../../contract/members.ts'
import { listMembersOfAccount } from '../../store/repositories/accounts.ts'
import { listEnvironments } from '../../store/repositories/environments.ts'
import { handler } from '../core/handler.ts'
import { accessOf } from './member-access.ts'

/** M6: with Manage Members, the list shows every environment, including those that the caller cannot access. */
export default handler(listMembers, async ({ tx }, input, { account }) => {
  const members = (await listMembersOfAccount(tx, account.accountId)).map(({ membership, email, name }) => {
    const { membershipId, admin, manageMembers, allowedAppEnvIds, invitation, revision } = membership
    const access = accessOf(membership)
    const invited = invitation !== null
    return { membershipId, email, name, admin, manageMembers, access, allowedAppEnvIds, invited, revision }
  })
  if (!input.withAppEnvs) return { answer: { members } }
  const environments = await listEnvironments(tx, { accountId: account.accountId })
  const appEnvs = environments.map(({ appEnvId, appId, name, cliEnvName }) => ({
    appEnvId,
    appId,
    name,
    cliEnvName,
  }))
  return { answer: { members, appEnvs } }
})
