import { removeChatUser } from '../../contract/chat.ts'
import { deleteChatUsers } from '../../store/repositories/chat-users.ts'
import { handler } from '../core/handler.ts'
import { chatUserChange } from './responses.ts'

export default handler(removeChatUser, async ({ tx }, _input, { chatUser }) => {
  await deleteChatUsers(tx, { chatUserId: chatUser.chatUserId })
  return {
    answer: { message: `Chat user ${chatUser.chatUserId} removed` },
    change: chatUserChange(chatUser, null),
    impact: { actions: ['change-access', 'change-credential'] },
    effects: [
      `The chat user ${chatUser.chatUser} of ${chatUser.workspace} can no longer act as a member of the account.`,
    ],
  }
})
