import { listChatConnections } from '../../contract/chat.ts'
import { listChatConnectionsOf } from '../../store/repositories/chat-connections.ts'
import { handler } from '../core/handler.ts'
import { connectionResponse } from './responses.ts'

export default handler(listChatConnections, async (context, _input, { account }) => {
  const connections = []
  for (const one of await listChatConnectionsOf(context.tx, account.accountId))
    connections.push(await connectionResponse(context, one))
  return { answer: { connections } }
})
