import { counted } from '../../amounts.ts'
import { deleteChatConnection } from '../../contract/chat.ts'
import { deleteChatConnectionRows } from '../../store/repositories/chat-connections.ts'
import { listChatUsersOf } from '../../store/repositories/chat-users.ts'
import { handler } from '../core/handler.ts'
import { connectionChange } from './responses.ts'

export default handler(deleteChatConnection, async ({ tx }, _input, { account, chatConnection }) => {
  const { connectionId } = chatConnection
  const people = (await listChatUsersOf(tx, account.accountId)).filter(
    (one) => one.connectionId === connectionId,
  )
  await deleteChatConnectionRows(tx, connectionId)
  return {
    answer: { message: `Chat connection ${connectionId} deleted` },
    change: connectionChange(chatConnection, null),
    impact: { actions: ['delete-object', 'change-access'] },
    effects: [
      `Ends the chat connection ${connectionId}: ${counted(people.length, 'person', 'people')} can no longer operate the account from it, and nothing more is posted.`,
    ],
  }
})
