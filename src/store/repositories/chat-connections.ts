import { z } from 'zod'
import { chatKinds } from '../../contract/chat.ts'
import type { StoredChatConnection } from '../../domain/chat/connection.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

declare module '../db.ts' {
  interface Tables {
    chat_connections: {
      connection_id: string
      account_id: string
      record: string
      channel: string | null
      revision: number
      created_at: string
    }
  }
}

const connectionRecord = recordReader<StoredChatConnection>(
  'chat_connections',
  'connectionId',
  z.object({ connectionId: z.string(), accountId: z.string(), kind: z.enum(chatKinds) }),
)

export async function findChatConnection(tx: Tx, connectionId: string): Promise<StoredChatConnection | null> {
  const row = await tx
    .selectFrom('chat_connections')
    .select('record')
    .where('connection_id', '=', connectionId)
    .executeTakeFirst()
  return connectionRecord.one(row)
}

/** Of one account, or of all. */
export async function listChatConnectionsOf(
  tx: Tx,
  accountId: string | null,
): Promise<StoredChatConnection[]> {
  let query = tx.selectFrom('chat_connections').select('record')
  if (accountId !== null) query = query.where('account_id', '=', accountId)
  return connectionRecord.all(await query.orderBy('created_at').orderBy('connection_id').execute())
}

export async function saveChatConnection(tx: Tx, connection: StoredChatConnection): Promise<void> {
  const { connectionId, accountId, channel, revision, createdAt } = connection
  const row = { record: JSON.stringify(connection), channel, revision }
  await tx
    .insertInto('chat_connections')
    .values({ connection_id: connectionId, account_id: accountId, created_at: createdAt, ...row })
    .onConflict((conflict) => conflict.column('connection_id').doUpdateSet(row))
    .execute()
}

/** With everything that belongs to it; the tokens of its people too. */
export async function deleteChatConnectionRows(tx: Tx, connectionId: string): Promise<void> {
  await tx
    .deleteFrom('tokens')
    .where('token_id', 'in', (e) =>
      e.selectFrom('chat_users').select('token_id').where('connection_id', '=', connectionId),
    )
    .execute()
  for (const table of [
    'chat_users',
    'chat_links',
    'chat_requests',
    'chat_questions',
    'chat_messages',
    'chat_connections',
  ] as const) {
    await tx
      .deleteFrom(table as 'chat_users')
      .where('connection_id', '=', connectionId)
      .execute()
  }
}
