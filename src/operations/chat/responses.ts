import type { ChatConnection } from '../../contract/chat.ts'
import { chatSecretName, type StoredChatConnection, type WantedChat } from '../../domain/chat/connection.ts'
import { waitingChatMessages } from '../../store/repositories/chat-messages.ts'
import type { StoredChatUser } from '../../store/repositories/chat-users.ts'
import type { Change, Context } from '../core/handler.ts'

/** Below the public address: where a slack-http app sends its requests. */
export const chatHookPath = '/hooks/chat/'

export async function connectionResponse(
  { tx, installation }: Context,
  { secrets: _secrets, ...connection }: StoredChatConnection,
): Promise<ChatConnection> {
  const { connectionId, kind } = connection
  return {
    ...connection,
    requestUrl: kind === 'slack-http' ? `${installation.publicUrl()}${chatHookPath}${connectionId}` : null,
    ...(await waitingChatMessages(tx, connectionId)),
  }
}

/** The stored form: given secrets are sealed, the others stay. */
export function withSealed(
  { secrets: box }: Context,
  before: StoredChatConnection,
  { secrets, ...wanted }: WantedChat,
): StoredChatConnection {
  const sealed = { ...before.secrets }
  for (const [key, value] of Object.entries(secrets)) {
    const name = key as keyof typeof sealed
    if (value === '') delete sealed[name]
    else if (value !== undefined) sealed[name] = box.seal(value, chatSecretName(before.connectionId, key))
  }
  return { ...before, ...wanted, secrets: sealed }
}

export function connectionChange(
  before: StoredChatConnection | null,
  after: StoredChatConnection | null,
): Change {
  const { connectionId, accountId } = (after ?? before) as StoredChatConnection
  return { objectType: 'chat-connection', objectId: connectionId, accountId, before, after }
}

export function chatUserChange(before: StoredChatUser | null, after: StoredChatUser | null): Change {
  const { chatUserId, accountId } = (after ?? before) as StoredChatUser
  return { objectType: 'chat-user', objectId: chatUserId, accountId, before, after }
}
