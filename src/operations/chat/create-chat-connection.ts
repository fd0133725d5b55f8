import { createChatConnection } from '../../contract/chat.ts'
import { type StoredChatConnection, wantedChat } from '../../domain/chat/connection.ts'
import { newId } from '../../domain/ids.ts'
import { AppError } from '../../errors.ts'
import { listChatConnectionsOf, saveChatConnection } from '../../store/repositories/chat-connections.ts'
import { handler } from '../core/handler.ts'
import { connectionChange, connectionResponse, withSealed } from './responses.ts'

/** Each of kind slack-socket holds a connection to the chat. */
const mostConnections = 10

export default handler(
  createChatConnection,
  async (context, { name, kind, channel, config }, { account }) => {
    const { tx, now } = context
    const { accountId } = account
    if ((await listChatConnectionsOf(tx, accountId)).length >= mostConnections) {
      throw new AppError('invalid', `An account has at most ${mostConnections} chat connections`, {
        details: 'Delete one that is no longer needed.',
      })
    }
    const empty: StoredChatConnection = {
      connectionId: newId('cht'),
      ...{ accountId, name, kind, channel: null, apiBaseUrl: null, secrets: {} },
      ...{ createdAt: now, updatedAt: now, revision: 1 },
    }
    const connection = withSealed(context, empty, wantedChat(empty, { channel, config }))
    await saveChatConnection(tx, connection)
    const response = await connectionResponse(context, connection)
    const next =
      response.requestUrl === null
        ? 'It connects to the chat now.'
        : `The app of the chat sends its requests to ${response.requestUrl}.`
    return {
      answer: {
        message: `Chat connection ${connection.connectionId} created. ${next}`,
        connection: response,
      },
      change: connectionChange(null, connection),
      impact: { actions: ['create-object'] },
      effects: [
        'People of the chat can operate the account, each with the rights of the member that they are connected to.',
        ...(connection.channel === null ? [] : [`Posts alerts and approvals to ${connection.channel}.`]),
      ],
    }
  },
)
