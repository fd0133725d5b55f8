import { connectChatUser } from '../../contract/chat.ts'
import { mostTokensOfUser } from '../../domain/access/tokens.ts'
import { AppError } from '../../errors.ts'
import { findMembership } from '../../store/repositories/accounts.ts'
import { findChatConnection } from '../../store/repositories/chat-connections.ts'
import { saveChatUser, takeChatLink } from '../../store/repositories/chat-users.ts'
import { makeRoomForToken } from '../../store/repositories/tokens.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'
import { chatUserChange } from './responses.ts'

/** The same answer in each case, so that it does not reveal which links and connections exist. */
function unknownLink(): AppError {
  return new AppError('not-found', 'Link not found', {
    details:
      'It was used, has expired, or is of another account. Any /longshore command in the chat shows a new one.',
  })
}

export default handler(connectChatUser, async ({ tx, now, caller }, { code }) => {
  const userId = userOf(caller)
  // A failed write is rolled back, so that only the right person uses the link up.
  const link = await takeChatLink(tx, code, now)
  const connection = link && (await findChatConnection(tx, link.connectionId))
  const membership = connection && (await findMembership(tx, connection.accountId, userId))
  if (!link || !connection || !membership || membership.invitation) throw unknownLink()
  if (!(await makeRoomForToken(tx, userId, now))) {
    throw new AppError('invalid', `A user has at most ${mostTokensOfUser} tokens`, {
      details: 'A chat user counts as one. Revoke one that is no longer needed: list-user-tokens.',
    })
  }
  const { connectionId, workspace, chatUser, chatName } = link
  const { accountId } = connection
  const made = { accountId, connectionId, workspace, chatUser, chatName, userId, createdAt: now }
  const stored = await saveChatUser(tx, made, caller.token.expiresAt)
  const who = `${chatName || chatUser} (${chatUser} of ${workspace}) in ${connection.name}`
  return {
    answer: {
      message: `The chat user ${who} now acts as you.`,
      accountId,
      chatUserId: stored.chatUserId,
    },
    change: chatUserChange(null, stored),
    impact: { actions: ['change-access', 'change-credential'] },
    effects: [
      `The chat user ${who} acts as you in the account ${accountId}, with your rights. Go on only if that is you.`,
    ],
  }
})
