import { chatSecretName, type StoredChatConnection } from '../domain/chat/connection.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'
import type { ChatWriter } from './chat.ts'
import type { createWriters } from './slack/web-api.ts'

type Secret = keyof StoredChatConnection['secrets']

/** A secret in clear, for the adapter that uses it at once. Null: the connection has none. */
export function secretOf(
  box: SecretBox,
  { connectionId, secrets }: StoredChatConnection,
  key: Secret,
): string | null {
  const sealed = secrets[key]
  return sealed === undefined ? null : box.open(sealed, chatSecretName(connectionId, key))
}

/** Null: without a bot token the connection only answers. */
export function writerOf(
  box: SecretBox,
  connection: StoredChatConnection,
  writers: ReturnType<typeof createWriters>,
): ChatWriter | null {
  const botToken = secretOf(box, connection, 'botToken')
  return botToken === null ? null : writers({ apiBaseUrl: connection.apiBaseUrl, botToken })
}
