import { listAccounts } from '../../contract/accounts.ts'
import { findAccount, listMembershipsOfUser } from '../../store/repositories/accounts.ts'
import { narrowedMembership } from '../core/agent-scope.ts'
import { handler } from '../core/handler.ts'

export default handler(listAccounts, async ({ tx, caller }) => {
  if (caller.kind !== 'user') return { answer: { accounts: [] } }
  const accounts = []
  for (const membership of await listMembershipsOfUser(tx, caller.userId)) {
    const narrowed = await narrowedMembership(tx, caller, membership)
    const account = narrowed && (await findAccount(tx, membership.accountId))
    if (!account) continue
    const { accountId, name, slug, settings, revision } = account
    const { admin, manageMembers } = membership
    accounts.push({ accountId, name, slug, permissions: { admin, manageMembers }, settings, revision })
  }
  return { answer: { accounts } }
})
