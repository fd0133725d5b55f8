import { removeMember } from '../contract/members.ts'
import { AppError } from '../errors.ts'
import { countAdmins, deleteMembership } from '../store/accounts.ts'
import { findUser } from '../store/users.ts'
import { handler } from './handler.ts'

export default handler(removeMember, async ({ tx }, _input, { account, membership, member }) => {
  if (member.admin && !membership.admin) {
    throw new AppError('forbidden', 'Admin permission required', {
      details: 'Only an admin removes an admin.',
      rule: 'M8',
    })
  }
  if (member.admin && (await countAdmins(tx, account.accountId)) <= 1) {
    throw new AppError('invalid', 'The last admin cannot be removed', {
      details: 'Add another admin first: an account without one could not be managed any more.',
    })
  }
  const user = await findUser(tx, { userId: member.userId })
  await deleteMembership(tx, member.membershipId)
  return {
    answer: { message: 'Member removed' },
    change: {
      objectType: 'membership',
      objectId: member.membershipId,
      accountId: account.accountId,
      before: { ...member, email: user?.email ?? null },
      after: null,
    },
    effects: [
      `${user?.email ?? 'The member'} loses this account at once. Their tokens and what they made stay.`,
    ],
  }
})
