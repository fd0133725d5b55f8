import { updateChatConnection } from '../../contract/chat.ts'
import { wantedChat } from '../../domain/chat/connection.ts'
import { saveChatConnection } from '../../store/repositories/chat-connections.ts'
import { handler } from '../core/handler.ts'
import { connectionChange, connectionResponse, withSealed } from './responses.ts'

export default handler(
  updateChatConnection,
  async (context, { name, channel, config }, { chatConnection: before }) => {
    const after = {
      ...withSealed(context, before, wantedChat(before, { channel, config })),
      name: name ?? before.name,
      updatedAt: context.now,
      revision: before.revision + 1,
    }
    await saveChatConnection(context.tx, after)
    const { apiBaseUrl: _base, ...secrets } = config ?? {}
    const isCredential = Object.values(secrets).some((value) => value !== undefined)
    return {
      answer: {
        message: `Chat connection ${after.connectionId} changed`,
        connection: await connectionResponse(context, after),
      },
      change: connectionChange(before, after),
      impact: { actions: isCredential ? ['change-settings', 'change-credential'] : ['change-settings'] },
      effects: isCredential
        ? ['The new secrets count from the next request on; the old ones are refused.']
        : ['Changes the chat connection.'],
    }
  },
)
