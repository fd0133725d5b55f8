import { declineInvitation } from '../../contract/invitations.ts'
import { deleteMembership } from '../../store/repositories/accounts.ts'
import { findInvitation } from '../../store/repositories/invitations.ts'
import { notFound } from '../core/authorize.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

export default handler(declineInvitation, async ({ tx, caller }, { invitationId }) => {
  const before = await findInvitation(tx, userOf(caller), invitationId)
  if (!before) throw notFound('invitation')
  const { accountId, membershipId } = before
  await deleteMembership(tx, membershipId)
  return {
    answer: { message: 'Invitation declined' },
    change: { objectType: 'membership', objectId: membershipId, accountId, before, after: null },
    impact: { actions: ['change-access'] },
    effects: ['Removes the invitation. To join later, you need a new one.'],
  }
})
