import { z } from 'zod'
import { accountId, expectedRevision, foreignName, id, isoTime, line, message, revision } from './fields.ts'
import { operation } from './operation.ts'

export const chatKinds = ['slack-socket', 'slack-http'] as const
export type ChatKind = (typeof chatKinds)[number]

const secret = z
  .string()
  .trim()
  .max(500)
  .regex(/^[\x21-\x7e]*$/, 'must be one word of printable ASCII characters')

/** The keys of both kinds; src/domain/chat/connection.ts checks which keys a kind takes. On update, omitted keys stay. */
const chatConfig = z.strictObject({
  appToken: secret.optional().describe('slack-socket: app-level token'),
  botToken: secret.optional().describe('Sends messages; optional for slack-http'),
  signingSecret: secret.optional().describe('slack-http'),
  apiBaseUrl: z.string().max(2048).optional().describe('slack-http: API of a compatible server'),
})
export type ChatConfig = z.output<typeof chatConfig>

const name = line(50)
const channel = foreignName(200).describe('Where alerts and approvals are posted; empty: nowhere')

const chatConnection = z.object({
  connectionId: z.string(),
  accountId: z.string(),
  name: z.string(),
  kind: z.enum(chatKinds),
  channel: z.string().nullable(),
  /** Where a slack-http app sends its requests; null for slack-socket. */
  requestUrl: z.string().nullable(),
  apiBaseUrl: z.string().nullable(),
  /** Messages that wait because the chat cannot be reached, and the reason of the last attempt. */
  waiting: z.number(),
  problem: z.string().nullable(),
  createdAt: isoTime,
  updatedAt: isoTime,
  revision,
})
export type ChatConnection = z.output<typeof chatConnection>

const connectionId = id.describe('See list-chat-connections')

export const listChatConnections = operation({
  id: 'list-chat-connections',
  method: 'GET',
  path: '/chat-connections',
  summary: 'Lists the chat connections of an account, without their secrets.',
  policy: { on: 'account' },
  input: z.strictObject({ accountId }),
  output: z.object({ connections: z.array(chatConnection) }),
  peopleOnly: true,
})

export const createChatConnection = operation({
  id: 'create-chat-connection',
  method: 'POST',
  path: '/chat-connection',
  summary:
    'Connects a chat: people operate the account from it. config by kind: slack-socket appToken, botToken; slack-http signingSecret, botToken?, apiBaseUrl?. Admin.',
  policy: { on: 'account', needs: 'admin' },
  input: z.strictObject({
    accountId,
    name,
    kind: z.enum(chatKinds),
    channel: channel.optional(),
    config: chatConfig,
  }),
  output: z.object({ ...message, connection: chatConnection }),
  peopleOnly: true,
})

export const updateChatConnection = operation({
  id: 'update-chat-connection',
  method: 'PATCH',
  path: '/chat-connection',
  summary: 'Renames a chat connection, or changes its channel, secrets or address. Omitted keys stay. Admin.',
  policy: { on: 'chat-connection', needs: 'admin' },
  input: z.strictObject({
    connectionId,
    name: name.optional(),
    channel: channel.optional(),
    config: chatConfig.optional(),
    expectedRevision,
  }),
  output: z.object({ ...message, connection: chatConnection }),
  peopleOnly: true,
})

export const deleteChatConnection = operation({
  id: 'delete-chat-connection',
  method: 'DELETE',
  path: '/chat-connection',
  summary: 'Deletes a chat connection with its people and the messages that wait. Admin.',
  policy: { on: 'chat-connection', needs: 'admin' },
  input: z.strictObject({ connectionId, expectedRevision }),
  output: z.object(message),
  peopleOnly: true,
})

const chatUser = z.object({
  chatUserId: z.string(),
  connectionId: z.string(),
  workspace: z.string(),
  /** The id in the chat. */
  chatUser: z.string(),
  /** The name in the chat when the person was connected; no decision is made over it. */
  chatName: z.string(),
  userId: z.string(),
  email: z.string(),
  name: z.string(),
  createdAt: isoTime,
})

export const listChatUsers = operation({
  id: 'list-chat-users',
  method: 'GET',
  path: '/chat-users',
  summary: 'Lists which chat user acts as which member. Without Manage Members: only the caller.',
  policy: { on: 'account' },
  input: z.strictObject({ accountId }),
  output: z.object({ users: z.array(chatUser) }),
  peopleOnly: true,
})

export const connectChatUser = operation({
  id: 'connect-chat-user',
  method: 'POST',
  path: '/chat-user',
  summary: 'Lets a chat user act as the caller in one account. The code is in the link that the chat showed.',
  policy: { on: 'installation' },
  input: z.strictObject({ code: z.string().min(1).max(100).describe('From the link; works once') }),
  output: z.object({ ...message, accountId: z.string(), chatUserId: z.string() }),
  peopleOnly: true,
  needsSecondStep: true,
})

export const removeChatUser = operation({
  id: 'remove-chat-user',
  method: 'DELETE',
  path: '/chat-user',
  summary:
    'Ends that a chat user acts as a member (Manage Members). Your own: revoke its token, which list-user-tokens shows.',
  policy: { on: 'chat-user', needs: 'manageMembers' },
  input: z.strictObject({ accountId, chatUserId: id.describe('See list-chat-users') }),
  output: z.object(message),
  peopleOnly: true,
})
