import { addMember } from '../contract/members.ts'
import { newId } from '../domain/ids.ts'
import { newToken, tokenHash } from '../domain/tokens.ts'
import { AppError } from '../errors.ts'
import { findMembership, insertMembership, type Membership } from '../store/accounts.ts'
import { insertToken } from '../store/tokens.ts'
import { findUser, insertUser } from '../store/users.ts'
import { handler } from './handler.ts'
import { checkedAppEnvIds } from './member-access.ts'

/** Nobody gives a permission that they lack (contract.md 11). */
export default handler(addMember, async ({ tx, now }, input, { account, membership }) => {
  if (input.admin && !membership.admin) {
    throw new AppError('forbidden', 'Admin permission required', {
      details: 'Only an admin makes another admin. Leave admin out, or ask an admin of the account.',
      rule: 'M8',
    })
  }
  const { accountId } = account
  const known = await findUser(tx, { email: input.email })
  if (known && (await findMembership(tx, accountId, known.userId))) {
    throw new AppError('invalid', 'Already a member', {
      details: 'list-members shows the membership; remove it first to give it other permissions.',
    })
  }
  const userId =
    known?.userId ?? (await insertUser(tx, { email: input.email, name: input.name, createdAt: now }))
  const added: Membership = {
    membershipId: newId('mem'),
    accountId,
    userId,
    admin: input.admin,
    manageMembers: input.manageMembers,
    allowedAppEnvIds: await checkedAppEnvIds(tx, account, input.allowedAppEnvIds ?? []),
    revision: 1,
  }
  await insertMembership(tx, added, now)
  const token = known ? null : newToken('user')
  if (token !== null) await insertToken(tx, tokenHash(token), { kind: 'user', userId }, now)
  return {
    answer: { membershipId: added.membershipId, token },
    change: {
      objectType: 'membership',
      objectId: added.membershipId,
      accountId,
      before: null,
      after: { ...added, email: input.email },
    },
    effects: [`Adds ${input.email}${known ? ', who keeps their token' : ', whose token is shown once'}.`],
  }
})
