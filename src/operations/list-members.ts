import { listMembers } from '../contract/members.ts'
import { listMembersOfAccount } from '../store/accounts.ts'
import { listEnvironments } from '../store/environments.ts'
import { handler } from './handler.ts'
import { accessOf } from './member-access.ts'

/** M6: who configures access sees every environment here, also those their own access hides elsewhere. */
export default handler(listMembers, async ({ tx }, input, { account }) => {
  const members = (await listMembersOfAccount(tx, account.accountId)).map(({ membership, email, name }) => {
    const { membershipId, admin, manageMembers, allowedAppEnvIds, revision } = membership
    const access = accessOf(membership)
    return { membershipId, email, name, admin, manageMembers, access, allowedAppEnvIds, revision }
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
