import { removeUser } from '../../contract/sign-in.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import {
  countAdmins,
  deleteMembership,
  findAccount,
  listAllMembershipsOfUser,
  type Membership,
} from '../../store/repositories/accounts.ts'
import { deleteLinksOfUser } from '../../store/repositories/approval-links.ts'
import { deleteChatUsers } from '../../store/repositories/chat-users.ts'
import { deleteIdentitiesOfUser } from '../../store/repositories/identities.ts'
import { deletePasskeysOfUser } from '../../store/repositories/passkeys.ts'
import { deleteSignInLinksOfUser } from '../../store/repositories/sign-in-links.ts'
import { findUser, removeUserWithCredentials } from '../../store/repositories/users.ts'
import { notFound } from '../core/authorize.ts'
import { type Change, handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

/** The audit log keeps the user's id; the address may be added again, as another user. */
export default handler(removeUser, async ({ tx, caller }, { userId }) => {
  if (userId === userOf(caller)) {
    throw new AppError('invalid', 'You cannot remove yourself', { details: 'Ask another operator.' })
  }
  const user = await findUser(tx, { userId })
  if (!user) throw notFound('user')
  const memberships = await listAllMembershipsOfUser(tx, userId)
  for (const one of memberships) await requireAnotherAdmin(tx, one)
  for (const { accountId, membershipId } of memberships) {
    await deleteMembership(tx, membershipId)
    await deleteChatUsers(tx, { accountId, userId })
  }
  const removals = [deletePasskeysOfUser, deleteIdentitiesOfUser, deleteSignInLinksOfUser, deleteLinksOfUser]
  for (const remove of [...removals, removeUserWithCredentials]) await remove(tx, userId)
  const alsoChanged = memberships.map((one): Change => {
    const { membershipId: objectId, accountId } = one
    const before = { ...one, email: user.email }
    return { objectType: 'membership', objectId, accountId, before, after: null }
  })
  return {
    answer: { message: 'User removed' },
    change: {
      objectType: 'user',
      objectId: userId,
      accountId: null,
      before: { email: user.email, name: user.name },
      after: null,
      alsoChanged,
    },
    impact: { actions: ['change-access', 'change-credential'] },
    effects: [
      `${user.email} loses access to every account immediately.`,
      'Their tokens, connected agents, sessions and passkeys stop working. What they created stays.',
    ],
  }
})

async function requireAnotherAdmin(tx: Tx, { accountId, admin, invitation }: Membership): Promise<void> {
  if (!admin || invitation || (await countAdmins(tx, accountId)) > 1) return
  const account = await findAccount(tx, accountId)
  throw new AppError('invalid', 'The last admin cannot be removed', {
    details: `Add another admin to ${account?.name ?? accountId} first: an account without an admin cannot be managed.`,
  })
}
