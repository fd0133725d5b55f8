import { sql } from 'kysely'
import { z } from 'zod'
import type { Notification } from '../../domain/alerts/notification.ts'
import { newId } from '../../domain/ids.ts'
import type { StoredRun } from '../../domain/remediation/remediation.ts'
import type { Tables, Tx } from '../db.ts'
import { recordReader } from '../record.ts'

declare module '../db.ts' {
  interface Tables {
    chat_messages: {
      message_id: string
      connection_id: string
      /** `alert:<episodeId>`, `diagnosis:<episodeId>`, `run:<runId>` or `approval:<approvalId>`. */
      subject: string
      /** The subject of the message in whose thread this one is; null for a message of the channel. */
      thread: string | null
      wanted: string
      /** 1: its alert still fires, or its approval still waits. */
      is_open: number
      /** Grows with each change of `wanted`. */
      version: number
      /** The version that the chat shows; 0: none. */
      sent_version: number
      /** What the chat calls the message. */
      ts: string | null
      attempts: number
      next_at_ms: number
      reason: string | null
      created_at: string
    }
  }
}

/** What a message is to show. */
export type WantedMessage =
  | { kind: 'alert'; notification: Notification }
  | { kind: 'diagnosis'; notification: Notification }
  | { kind: 'run'; name: string; status: string; story: string[] }
  /** The rest is read when it is sent. */
  | { kind: 'approval'; approvalId: string; status: string; decisions: number }

export interface ChatMessage {
  messageId: string
  connectionId: string
  subject: string
  thread: string | null
  wanted: WantedMessage
  version: number
  sentVersion: number
  ts: string | null
  attempts: number
}

const wantedRecord = recordReader<WantedMessage>('chat_messages', null, z.looseObject({ kind: z.string() }))

function messageOf(row: Tables['chat_messages']): ChatMessage {
  return {
    messageId: row.message_id,
    connectionId: row.connection_id,
    subject: row.subject,
    thread: row.thread,
    wanted: wantedRecord.parse(row.wanted, row.message_id),
    version: row.version,
    sentVersion: row.sent_version,
    ts: row.ts,
    attempts: row.attempts,
  }
}

function isOpen(wanted: WantedMessage): boolean {
  if (wanted.kind === 'approval') return wanted.status === 'pending'
  return wanted.kind === 'alert' && wanted.notification.event === 'firing'
}

/** What a message is to show from now on, in the transaction of the change that it tells. */
export async function wantChatMessage(
  tx: Tx,
  message: { connectionId: string; subject: string; thread?: string; wanted: WantedMessage },
  nowMs: number,
): Promise<void> {
  const { connectionId, subject, thread = null, wanted } = message
  const state = { wanted: JSON.stringify(wanted), is_open: isOpen(wanted) ? 1 : 0 }
  await tx
    .insertInto('chat_messages')
    .values({
      message_id: newId('cms'),
      connection_id: connectionId,
      subject,
      thread,
      ...state,
      version: 1,
      sent_version: 0,
      ts: null,
      attempts: 0,
      next_at_ms: nowMs,
      reason: null,
      created_at: new Date(nowMs).toISOString(),
    })
    .onConflict((conflict) =>
      conflict.columns(['connection_id', 'subject']).doUpdateSet((e) => ({
        ...state,
        version: e('chat_messages.version', '+', 1),
      })),
    )
    .execute()
}

/** One message for each episode of an alert, in every chat of the account that has a channel. */
export async function wantAlertMessages(tx: Tx, notification: Notification, nowMs: number): Promise<void> {
  const { accountId, episodeId, event } = notification
  for (const connectionId of await listChatsWithChannel(tx, accountId)) {
    const subject = `alert:${episodeId}`
    // A connection that was made in the middle of an episode does not tell its end.
    if (event === 'resolved' && !(await findChatMessage(tx, connectionId, subject))) continue
    await wantChatMessage(tx, { connectionId, subject, wanted: { kind: 'alert', notification } }, nowMs)
    if (event !== 'firing') continue
    const wanted = { kind: 'diagnosis' as const, notification }
    const reply = { connectionId, subject: `diagnosis:${episodeId}`, thread: subject, wanted }
    await wantChatMessage(tx, reply, nowMs)
  }
}

async function listChatsWithChannel(tx: Tx, accountId: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('chat_connections')
    .select('connection_id')
    .where('account_id', '=', accountId)
    .where('channel', 'is not', null)
    .execute()
  return rows.map((row) => row.connection_id)
}

/** How a remediation run stands, in the thread of its alert; that of a cause has no thread. */
export async function wantRunMessages(
  tx: Tx,
  { accountId, episode, trigger, runId }: Pick<StoredRun, 'accountId' | 'episode' | 'trigger' | 'runId'>,
  wanted: WantedMessage & { kind: 'run' },
  nowMs: number,
): Promise<void> {
  const alert = trigger.alertId === undefined ? null : `alert:${episode}`
  for (const connectionId of await listChatsWithChannel(tx, accountId)) {
    if (alert !== null && !(await findChatMessage(tx, connectionId, alert))) continue
    const thread = alert === null ? {} : { thread: alert }
    await wantChatMessage(tx, { connectionId, subject: `run:${runId}`, ...thread, wanted }, nowMs)
  }
}

/** Approvals that wait and have no message yet, by connection. */
export async function listUnannouncedApprovals(
  tx: Tx,
  now: string,
): Promise<{ connectionId: string; approvalId: string }[]> {
  const rows = await tx
    .selectFrom('approvals as a')
    .innerJoin('chat_connections as c', 'c.account_id', 'a.account_id')
    .select(['c.connection_id as connectionId', 'a.approval_id as approvalId'])
    .where('a.status', '=', 'pending')
    .where('a.expires_at', '>', now)
    .where('c.channel', 'is not', null)
    .whereRef('a.created_at', '>=', 'c.created_at')
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('chat_messages as m')
            .select('m.message_id')
            .whereRef('m.connection_id', '=', 'c.connection_id')
            .where('m.subject', '=', sql<string>`'approval:' || a.approval_id`),
        ),
      ),
    )
    .orderBy('a.created_at')
    .limit(100)
    .execute()
  return rows
}

/** Messages about approvals whose end is not shown yet. */
export async function listOpenApprovalMessages(tx: Tx): Promise<ChatMessage[]> {
  const rows = await tx
    .selectFrom('chat_messages')
    .selectAll()
    .where('subject', 'like', 'approval:%')
    .where('is_open', '=', 1)
    .limit(1_000)
    .execute()
  return rows.map(messageOf)
}

/** A time further ahead than this was written before the wall clock stepped back. */
const longestWaitMs = 2 * 3_600_000

/** Messages whose latest version the chat does not show; replies once their thread exists. */
function dueMessages(tx: Tx, nowMs: number) {
  return tx
    .selectFrom('chat_messages as m')
    .whereRef('m.sent_version', '<', 'm.version')
    .where((e) => e.or([e('m.next_at_ms', '<=', nowMs), e('m.next_at_ms', '>', nowMs + longestWaitMs)]))
    .where((e) =>
      e.or([
        e('m.thread', 'is', null),
        e.exists(
          e
            .selectFrom('chat_messages as parent')
            .select('parent.message_id')
            .whereRef('parent.connection_id', '=', 'm.connection_id')
            .whereRef('parent.subject', '=', 'm.thread')
            .where('parent.ts', 'is not', null),
        ),
      ]),
    )
}

export async function listDueChats(tx: Tx, nowMs: number): Promise<string[]> {
  const rows = await dueMessages(tx, nowMs).select('m.connection_id').distinct().execute()
  return rows.map((row) => row.connection_id)
}

/** Those of one connection, the oldest first. */
export async function listDueChatMessages(
  tx: Tx,
  { connectionId, nowMs, limit }: { connectionId: string; nowMs: number; limit: number },
): Promise<ChatMessage[]> {
  const rows = await dueMessages(tx, nowMs)
    .selectAll('m')
    .where('m.connection_id', '=', connectionId)
    .orderBy('m.created_at')
    .orderBy('m.message_id')
    .limit(limit)
    .execute()
  return rows.map(messageOf)
}

export async function findChatMessage(
  tx: Tx,
  connectionId: string,
  subject: string,
): Promise<ChatMessage | null> {
  const row = await tx
    .selectFrom('chat_messages')
    .selectAll()
    .where('connection_id', '=', connectionId)
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row ? messageOf(row) : null
}

/** The outcome of an attempt to show a version. */
type ChatAttempt =
  | { sent: true; handle: string | null }
  | { sent: false; nextAtMs: number; attempts: number; reason: string; forgetsHandle: boolean }

export async function recordChatAttempt(
  tx: Tx,
  { messageId, version }: ChatMessage,
  outcome: ChatAttempt,
): Promise<void> {
  await tx
    .updateTable('chat_messages')
    .set(
      outcome.sent
        ? { sent_version: version, attempts: 0, reason: null, ts: outcome.handle }
        : {
            next_at_ms: Math.round(outcome.nextAtMs),
            attempts: outcome.attempts,
            reason: outcome.reason,
            ...(outcome.forgetsHandle ? { ts: null } : {}),
          },
    )
    .where('message_id', '=', messageId)
    .execute()
}

/** The messages that wait for a connection, and why the last attempt failed. */
export async function waitingChatMessages(
  tx: Tx,
  connectionId: string,
): Promise<{ waiting: number; problem: string | null }> {
  const rows = await tx
    .selectFrom('chat_messages')
    .select('reason')
    .where('connection_id', '=', connectionId)
    .whereRef('sent_version', '<', 'version')
    .orderBy('attempts', 'desc')
    .execute()
  return { waiting: rows.length, problem: rows[0]?.reason ?? null }
}

/** Old messages, unless their alert still fires or their approval still waits. */
export async function forgetChatMessagesBefore(tx: Tx, at: string): Promise<void> {
  await tx.deleteFrom('chat_messages').where('created_at', '<', at).where('is_open', '=', 0).execute()
}
