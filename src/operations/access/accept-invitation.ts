import { acceptInvitation } from '../../contract/invitations.ts'
import * as store from '../../store/repositories/invitations.ts'
import { notFound } from '../core/authorize.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

export default handler(acceptInvitation, async ({ tx, caller }, { invitationId }) => {
  const before = await store.findInvitation(tx, userOf(caller), invitationId)
  if (!before) throw notFound('invitation')
  const { accountId, membershipId } = before
  const after = { ...before, invitation: null, revision: before.revision + 1 }
  await store.acceptInvitation(tx, after)
  return {
    answer: { accountId, membershipId, message: 'Invitation accepted; list-accounts shows the account' },
    change: { objectType: 'membership', objectId: membershipId, accountId, before, after },
    impact: { actions: ['change-access'] },
    effects: ['You become a member of the inviting account.'],
  }
})
