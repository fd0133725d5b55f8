import { personAccess } from '../../domain/access/agent-limits.ts'
import { tokenHash } from '../../domain/access/tokens.ts'
import { newId } from '../../domain/ids.ts'
import type { Tx } from '../db.ts'
import { chatHash, deleteTokenOfUser, insertToken } from './tokens.ts'

declare module '../db.ts' {
  interface Tables {
    chat_users: {
      chat_user_id: string
      account_id: string
      connection_id: string
      workspace: string
      chat_user: string
      chat_name: string
      user_id: string
      token_id: string
      created_at: string
    }
    chat_links: {
      code_hash: string
      connection_id: string
      workspace: string
      chat_user: string
      chat_name: string
      expires_at: string
    }
  }
}

/** A person in a chat, by ids of the chat: names and addresses there can be chosen freely. */
export interface ChatPerson {
  connectionId: string
  workspace: string
  chatUser: string
}

export interface StoredChatUser extends ChatPerson {
  chatUserId: string
  accountId: string
  chatName: string
  userId: string
  tokenId: string
  createdAt: string
}

function chatUserOf(row: {
  chat_user_id: string
  account_id: string
  connection_id: string
  workspace: string
  chat_user: string
  chat_name: string
  user_id: string
  token_id: string
  created_at: string
}): StoredChatUser {
  return {
    chatUserId: row.chat_user_id,
    accountId: row.account_id,
    connectionId: row.connection_id,
    workspace: row.workspace,
    chatUser: row.chat_user,
    chatName: row.chat_name,
    userId: row.user_id,
    tokenId: row.token_id,
    createdAt: row.created_at,
  }
}

/** Only those whose token was not revoked. */
function withToken(tx: Tx) {
  return tx
    .selectFrom('chat_users')
    .innerJoin('tokens', 'tokens.token_id', 'chat_users.token_id')
    .selectAll('chat_users')
}

export async function findChatUserOf(tx: Tx, person: ChatPerson): Promise<StoredChatUser | null> {
  const row = await withToken(tx)
    .where('connection_id', '=', person.connectionId)
    .where('workspace', '=', person.workspace)
    .where('chat_user', '=', person.chatUser)
    .executeTakeFirst()
  return row ? chatUserOf(row) : null
}

export async function findChatUser(tx: Tx, chatUserId: string): Promise<StoredChatUser | null> {
  const row = await withToken(tx).where('chat_user_id', '=', chatUserId).executeTakeFirst()
  return row ? chatUserOf(row) : null
}

export async function listChatUsersOf(tx: Tx, accountId: string): Promise<StoredChatUser[]> {
  const rows = await withToken(tx)
    .where('chat_users.account_id', '=', accountId)
    .orderBy('chat_users.created_at')
    .orderBy('chat_user_id')
    .execute()
  return rows.map(chatUserOf)
}

/** Replaces an earlier owner of the same chat user. The token is limited to the account of the connection. */
export async function saveChatUser(
  tx: Tx,
  user: Omit<StoredChatUser, 'chatUserId' | 'tokenId'>,
  expiresAt: string | null,
): Promise<StoredChatUser> {
  const before = await tx
    .selectFrom('chat_users')
    .select(['chat_user_id'])
    .where('connection_id', '=', user.connectionId)
    .where('workspace', '=', user.workspace)
    .where('chat_user', '=', user.chatUser)
    .executeTakeFirst()
  if (before) await deleteChatUsers(tx, { chatUserId: before.chat_user_id })
  const chatUserId = newId('chu')
  const access = { ...personAccess, pin: { account: user.accountId, app: null, env: null } }
  const name = `Chat: ${user.chatName || user.chatUser}`.slice(0, 100)
  const owner = { kind: 'user' as const, userId: user.userId }
  const tokenId = await insertToken(tx, chatHash(chatUserId), owner, user.createdAt, {
    name,
    access,
    expiresAt,
  })
  const stored = { ...user, chatUserId, tokenId }
  await tx
    .insertInto('chat_users')
    .values({
      chat_user_id: chatUserId,
      account_id: user.accountId,
      connection_id: user.connectionId,
      workspace: user.workspace,
      chat_user: user.chatUser,
      chat_name: user.chatName,
      user_id: user.userId,
      token_id: tokenId,
      created_at: user.createdAt,
    })
    .execute()
  return stored
}

/** One chat user, or all of a member of an account. Their tokens end. */
export async function deleteChatUsers(
  tx: Tx,
  of: { chatUserId: string } | { accountId: string; userId: string },
): Promise<void> {
  const found = tx.selectFrom('chat_users').select(['chat_user_id', 'user_id', 'token_id'])
  const rows = await ('chatUserId' in of
    ? found.where('chat_user_id', '=', of.chatUserId)
    : found.where('account_id', '=', of.accountId).where('user_id', '=', of.userId)
  ).execute()
  for (const { chat_user_id, user_id, token_id } of rows) {
    await deleteTokenOfUser(tx, user_id, token_id)
    await tx.deleteFrom('chat_users').where('chat_user_id', '=', chat_user_id).execute()
  }
}

interface ChatLink extends ChatPerson {
  chatName: string
  expiresAt: string
}

/** A person has one link: the newest. */
export async function saveChatLink(tx: Tx, code: string, link: ChatLink): Promise<void> {
  await tx
    .deleteFrom('chat_links')
    .where('connection_id', '=', link.connectionId)
    .where('workspace', '=', link.workspace)
    .where('chat_user', '=', link.chatUser)
    .execute()
  await tx
    .insertInto('chat_links')
    .values({
      code_hash: tokenHash(code),
      connection_id: link.connectionId,
      workspace: link.workspace,
      chat_user: link.chatUser,
      chat_name: link.chatName,
      expires_at: link.expiresAt,
    })
    .execute()
}

/** Uses the link up. Null if it is unknown, used or expired. */
export async function takeChatLink(tx: Tx, code: string, now: string): Promise<ChatLink | null> {
  const row = await tx
    .deleteFrom('chat_links')
    .where('code_hash', '=', tokenHash(code))
    .where('expires_at', '>', now)
    .returningAll()
    .executeTakeFirst()
  if (!row) return null
  const { connection_id: connectionId, workspace, chat_user: chatUser, chat_name: chatName } = row
  return { connectionId, workspace, chatUser, chatName, expiresAt: row.expires_at }
}
