import { removeMember } from '../../contract/members.ts'
import { AppError } from '../../errors.ts'
import { countAdmins, deleteMembership } from '../../store/repositories/accounts.ts'
import { deleteChatUsers } from '../../store/repositories/chat-users.ts'
import { findUser } from '../../store/repositories/users.ts'
import { handler } from '../core/handler.ts'

export default handler(removeMember, async ({ tx }, _input, { account, membership, member }) => {
  if (member.admin && !membership.admin) {
    throw new AppError('forbidden', 'Admin permission required', {
      details: 'Only an admin can remove an admin.',
      rule: 'M8',
    })
  }
  const { invitation } = member
  if (member.admin && !invitation && (await countAdmins(tx, account.accountId)) <= 1) {
    throw new AppError('invalid', 'The last admin cannot be removed', {
      details: 'Add another admin first: an account without an admin cannot be managed.',
    })
  }
  const user = await findUser(tx, { userId: member.userId })
  await deleteMembership(tx, member.membershipId)
  await deleteChatUsers(tx, { accountId: account.accountId, userId: member.userId })
  return {
    answer: { message: invitation ? 'Invitation withdrawn' : 'Member removed' },
    change: {
      objectType: 'membership',
      objectId: member.membershipId,
      accountId: account.accountId,
      before: { ...member, email: user?.email ?? null },
      after: null,
    },
    impact: { actions: ['change-access'] },
    effects: [
      invitation
        ? `Withdraws the invitation of ${user?.email ?? 'the user'}.`
        : `${user?.email ?? 'The member'} loses access to this account immediately. Their tokens and everything they created stay.`,
    ],
  }
})
