import type { ChatConfig, ChatKind } from '../../contract/chat.ts'
import { AppError } from '../../errors.ts'

type Secret = 'appToken' | 'botToken' | 'signingSecret'

/** As stored: secrets are sealed by the secret box, bound to `<connectionId>/<key>`. */
export interface StoredChatConnection {
  connectionId: string
  accountId: string
  name: string
  kind: ChatKind
  /** Where alerts and approvals are posted; null: nowhere. */
  channel: string | null
  /** Null: the API of the installation, which is Slack's own. */
  apiBaseUrl: string | null
  secrets: Partial<Record<Secret, string>>
  createdAt: string
  updatedAt: string
  revision: number
}

const takes: Readonly<Record<ChatKind, { required: readonly Secret[]; optional: readonly Secret[] }>> = {
  'slack-socket': { required: ['appToken', 'botToken'], optional: [] },
  'slack-http': { required: ['signingSecret'], optional: ['botToken'] },
}

export function chatSecretName(connectionId: string, key: string): string {
  return `${connectionId}/${key}`
}

export interface WantedChat {
  channel: string | null
  apiBaseUrl: string | null
  /** Secrets to seal. */
  secrets: Partial<Record<Secret, string>>
}

/** The connection after a write: secrets that are not given stay. Throws `invalid` for what its kind cannot use. */
export function wantedChat(
  before: Pick<StoredChatConnection, 'kind' | 'channel' | 'apiBaseUrl' | 'secrets'>,
  { channel, config = {} }: { channel?: string | undefined; config?: ChatConfig | undefined },
): WantedChat {
  const { kind } = before
  const { apiBaseUrl, ...secrets } = config
  const { required, optional } = takes[kind]
  for (const [key, value] of Object.entries(secrets)) {
    if (value !== undefined && ![...required, ...optional].includes(key as Secret))
      throw invalid(`${kind} takes no ${key}`)
  }
  for (const key of required)
    if (!(secrets[key] ?? before.secrets[key])) throw invalid(`${kind} needs ${key}`)
  const next = {
    channel: channel === undefined ? before.channel : channel || null,
    apiBaseUrl: apiBaseUrl === undefined ? before.apiBaseUrl : checkedBase(kind, apiBaseUrl),
    secrets,
  }
  // A new address would get the token that another server was given.
  if (next.apiBaseUrl !== before.apiBaseUrl && before.secrets.botToken && !secrets.botToken)
    throw invalid('a new apiBaseUrl needs botToken again')
  if (next.channel !== null && !(secrets.botToken ?? before.secrets.botToken))
    throw invalid('messages to a channel need botToken')
  return next
}

function checkedBase(kind: ChatKind, text: string): string | null {
  if (text === '') return null
  if (kind !== 'slack-http') throw invalid(`${kind} takes no apiBaseUrl`)
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash)
    throw invalid('apiBaseUrl must be an address such as https://chat.example.com/api')
  return url.href.replace(/\/$/, '')
}

function invalid(details: string): AppError {
  return new AppError('invalid', 'The chat connection cannot be used', { details: `config: ${details}.` })
}
