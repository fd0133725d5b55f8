import { z } from 'zod'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'
import type { ChatPerson } from './chat-users.ts'

declare module '../db.ts' {
  interface Tables {
    chat_requests: { connection_id: string; request: string; at: string }
    chat_questions: {
      question_id: string
      connection_id: string
      workspace: string
      chat_user: string
      record: string
      expires_at: string
    }
  }
}

/** Notes that a request was accepted; false if one of its names was accepted before. */
export async function noteChatRequest(
  tx: Tx,
  connectionId: string,
  names: readonly string[],
  at: string,
): Promise<boolean> {
  for (const request of names) {
    const added = await tx
      .insertInto('chat_requests')
      .values({ connection_id: connectionId, request, at })
      .onConflict((conflict) => conflict.columns(['connection_id', 'request']).doNothing())
      .executeTakeFirst()
    if (Number(added.numInsertedOrUpdatedRows ?? 0) === 0) return false
  }
  return true
}

/** A write that waits for a click of the person who sent the command. */
export interface ChatQuestion extends ChatPerson {
  questionId: string
  expiresAt: string
  operation: string
  input: Record<string, unknown>
  envName: string
  /** The channel sees the answer. */
  shared: boolean
  /** SHA-256 of the call and of what the person saw of it. */
  digest: string
}

const questionRecord = recordReader<ChatQuestion>(
  'chat_questions',
  'questionId',
  z.object({ questionId: z.string(), operation: z.string(), digest: z.string() }),
)

export async function insertChatQuestion(tx: Tx, question: ChatQuestion): Promise<void> {
  const { questionId, connectionId, workspace, chatUser, expiresAt } = question
  await tx
    .insertInto('chat_questions')
    .values({
      question_id: questionId,
      connection_id: connectionId,
      workspace,
      chat_user: chatUser,
      record: JSON.stringify(question),
      expires_at: expiresAt,
    })
    .execute()
}

/** Only for the person who sent the command, and in time. */
export async function findChatQuestion(
  tx: Tx,
  questionId: string,
  { connectionId, workspace, chatUser }: ChatPerson,
  now: string,
): Promise<ChatQuestion | null> {
  const row = await tx
    .selectFrom('chat_questions')
    .select('record')
    .where('question_id', '=', questionId)
    .where('connection_id', '=', connectionId)
    .where('workspace', '=', workspace)
    .where('chat_user', '=', chatUser)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return questionRecord.one(row)
}

/** False if it was answered meanwhile. */
export async function takeChatQuestion(tx: Tx, questionId: string): Promise<boolean> {
  const deleted = await tx
    .deleteFrom('chat_questions')
    .where('question_id', '=', questionId)
    .executeTakeFirst()
  return Number(deleted.numDeletedRows) === 1
}

/** Requests that are too old to be accepted again anyway, and links and questions whose time has passed. */
export async function forgetOldChat(tx: Tx, now: string, requestsBefore: string): Promise<void> {
  await tx.deleteFrom('chat_requests').where('at', '<', requestsBefore).execute()
  await tx.deleteFrom('chat_links').where('expires_at', '<=', now).execute()
  await tx.deleteFrom('chat_questions').where('expires_at', '<=', now).execute()
}
