import type { ImpactStatement } from '../../contract/impact.ts'
import { addMember } from '../../contract/members.ts'
import { newToken, tokenHash } from '../../domain/access/tokens.ts'
import { newId } from '../../domain/ids.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import {
  findMembershipOrInvitation,
  insertMembership,
  type Membership,
} from '../../store/repositories/accounts.ts'
import { countInvitations } from '../../store/repositories/invitations.ts'
import { insertToken, listTokensOfUser } from '../../store/repositories/tokens.ts'
import { findUser, hasLookAlike, insertUser } from '../../store/repositories/users.ts'
import { type Context, handler, type Outcome } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'
import { checkedAppEnvIds, requireGrantable } from './member-access.ts'

/** Limits of pending invitations, against floods. */
const mostPending = { ofInviter: 20, ofAccount: 100, ofInvited: 50 }

/** The token may have been mailed without being stored. */
const interrupted =
  'Added, but the platform was interrupted while it e-mailed the token. If no token that works arrives, call add-member again with another Idempotency-Key'

type Answer = Awaited<ReturnType<(typeof addMember)['output']['parseAsync']>>

export default handler(addMember, async (context, input, { account, membership }) => {
  if (input.admin && !membership.admin) {
    throw new AppError('forbidden', 'Admin permission required', {
      details: 'Only an admin can add another admin. Omit admin, or ask an admin of the account.',
      rule: 'M8',
    })
  }
  const allowedAppEnvIds = input.allowedAppEnvIds ?? []
  // An address of their own would be a member with full access.
  requireGrantable(membership, null, allowedAppEnvIds)
  const { tx, now, caller } = context
  const { accountId } = account
  const known = await findUser(tx, { email: input.email })
  if (!known && (await hasLookAlike(tx, input.email))) {
    throw new AppError('invalid', 'This address looks like that of another user', {
      details:
        'It has letters of another alphabet that look the same. Type it again, or use another address.',
    })
  }
  const existing = known && (await findMembershipOrInvitation(tx, accountId, known.userId))
  const needsToken =
    !known || (context.tokenMail !== null && (await listTokensOfUser(tx, known.userId)).length === 0)
  if (existing && !needsToken) throw alreadyThere(existing)
  const userId =
    known?.userId ?? (await insertUser(tx, { email: input.email, name: input.name, createdAt: now }))
  if (existing) return withToken(context, input.email, existing, {})
  const invitedBy = userOf(caller)
  if (known) await refuseTooMany(tx, { accountId, userId, invitedBy })
  const added: Membership = {
    membershipId: newId('mem'),
    accountId,
    userId,
    admin: input.admin,
    manageMembers: input.manageMembers,
    allowedAppEnvIds: await checkedAppEnvIds(tx, account, allowedAppEnvIds),
    revision: 1,
    invitation: known ? { invitationId: newId('inv'), invitedBy } : null,
  }
  await insertMembership(tx, added, now)
  const change = {
    objectType: 'membership',
    objectId: added.membershipId,
    accountId,
    before: null,
    after: { ...added, email: input.email },
  } as const
  if (needsToken) return withToken(context, input.email, added, { change })
  const message = 'Invited: the user keeps their token and joins with accept-invitation'
  return {
    answer: answerOf(added, null, false, message),
    change,
    impact: { actions: ['change-access'] },
    effects: [`Invites ${input.email}, who cannot see the account until they accept.`],
  }
})

/** With a mail server, e-mails the token and stores it only after the mail was accepted; otherwise returns it once. */
async function withToken(
  { tx, now, caller, tokenMail, installation }: Context,
  email: string,
  added: Membership,
  rest: Pick<Outcome<Answer>, 'change'>,
): Promise<Outcome<Answer> & { impact: ImpactStatement }> {
  const token = newToken('user')
  const owner = { kind: 'user', userId: added.userId } as const
  const access = rest.change ? (['change-access'] as const) : []
  if (!tokenMail) {
    await insertToken(tx, tokenHash(token), owner, now)
    const effects = [`Adds ${email} and shows their token once.`]
    return {
      ...rest,
      answer: answerOf(added, token, false, 'Added; the token is shown once'),
      impact: { actions: [...access, 'change-credential', 'reveal-secret'] },
      effects,
    }
  }
  tokenMail.admit(caller.principal)
  const inviter = await findUser(tx, { userId: userOf(caller) })
  // Never the address of this request, which the inviter chooses: the mail asks for the token there.
  const facts = { token, invitedBy: inviter?.email ?? 'Somebody', apiUrl: installation.publicUrl() }
  return {
    ...rest,
    answer: answerOf(added, null, false, interrupted),
    impact: { actions: [...access, 'change-credential', 'send-message'], peopleNotified: 1 },
    effects: [`Adds ${email} and sends their token by e-mail only.`],
    afterCommit: async (write) => {
      const sent = await tokenMail.send(email, facts)
      if (!sent.ok) {
        const message = `Added, but the token could not be e-mailed: ${sent.reason}. Call add-member again to send one`
        return answerOf(added, null, false, message)
      }
      await write((later) => insertToken(later, tokenHash(token), owner, now))
      return answerOf(added, null, true, 'Added; the token was sent by e-mail')
    },
  }
}

function answerOf(added: Membership, token: string | null, tokenEmailed: boolean, message: string): Answer {
  const { membershipId, invitation } = added
  return { membershipId, invitationId: invitation?.invitationId ?? null, token, tokenEmailed, message }
}

function alreadyThere({ invitation }: Membership): AppError {
  return invitation
    ? new AppError('invalid', 'Already invited', {
        details: 'The invitation is still pending. remove-member withdraws it.',
      })
    : new AppError('invalid', 'Already a member', {
        details: 'list-members shows the membership. To change its permissions, remove it and add it again.',
      })
}

async function refuseTooMany(
  tx: Tx,
  { accountId, userId, invitedBy }: { accountId: string; userId: string; invitedBy: string },
): Promise<void> {
  const { ofInviter, ofAccount, ofInvited } = mostPending
  const isOver =
    (await countInvitations(tx, { invitedBy })) >= ofInviter ||
    (await countInvitations(tx, { accountId })) >= ofAccount ||
    (await countInvitations(tx, { userId })) >= ofInvited
  if (!isOver) return
  throw new AppError('invalid', 'Too many pending invitations', {
    details: `At most ${ofInviter} invitations by one inviter, ${ofAccount} of an account and ${ofInvited} to one user may be pending. Withdraw some with remove-member, or wait until they are accepted or declined.`,
  })
}
