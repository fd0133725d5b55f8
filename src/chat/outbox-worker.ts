import type { Clock } from '../clock.ts'
import type { Finding } from '../contract/diagnosis.ts'
import { retryDelayMs } from '../domain/alerts/notification.ts'
import { statusAt } from '../domain/approvals/approval.ts'
import type { StoredChatConnection } from '../domain/chat/connection.ts'
import type { Log } from '../log.ts'
import { movedBases } from '../operations/approvals/moved-bases.ts'
import type { Db, Tx } from '../store/db.ts'
import { findApproval } from '../store/repositories/approvals.ts'
import { findChatConnection } from '../store/repositories/chat-connections.ts'
import {
  type ChatMessage,
  findChatMessage,
  listDueChatMessages,
  listDueChats,
  listOpenApprovalMessages,
  listUnannouncedApprovals,
  recordChatAttempt,
  type WantedMessage,
  wantChatMessage,
} from '../store/repositories/chat-messages.ts'
import { findUsers } from '../store/repositories/users.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'
import { writeUntilStored } from '../store/write-until-stored.ts'
import { Worker } from '../worker.ts'
import { alertMessage, diagnosisMessage, runMessage } from './alerts.ts'
import { approvalMessage } from './approvals.ts'
import type { ChatText, ChatWriter, Sent } from './chat.ts'
import { writerOf } from './connections.ts'
import type { createWriters } from './slack/web-api.ts'

const lookEveryMs = 1_000
const mostAtOnce = 200

/** What serves, and the first finding. */
type DescribeEnvironment = (
  appEnvId: string,
) => Promise<{ servingVersion: number | null; diagnosis: Finding | null }>

export interface OutboxWorkerDeps {
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  writers: ReturnType<typeof createWriters>
  describe: DescribeEnvironment
  publicUrl: () => string
  random?: () => number
}

/**
 * Brings the messages in chats to the stored state of alerts and approvals, at least once. A message is always shown as it
 * is to be now, so an older state never follows a newer one, and an hour without the chat costs no message. Each
 * connection has a lane of its own, so that a chat that does not answer delays no other.
 */
export class ChatOutboxWorker {
  readonly #deps: OutboxWorkerDeps
  readonly #worker: Worker
  readonly #abort = new AbortController()
  readonly #lanes = new Map<string, Promise<void>>()
  /** Until when a chat wants no more requests, in wall time. */
  readonly #quietUntilMs = new Map<string, number>()

  constructor(deps: OutboxWorkerDeps) {
    this.#deps = deps
    const { clock, log } = deps
    this.#worker = new Worker({
      clock,
      everyMs: lookEveryMs,
      pass: () => this.#look(),
      failed: (error) => log.warn({ err: error }, 'chat messages could not be read; retrying'),
    })
  }

  start(): void {
    this.#worker.start()
    this.#worker.wake()
  }

  wake(): void {
    this.#worker.wake()
  }

  /** Resolves when everything that is due was attempted. */
  async settled(): Promise<void> {
    await this.#worker.settled()
    await Promise.all(this.#lanes.values())
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#worker.stop()
    await Promise.allSettled(this.#lanes.values())
  }

  async #look(): Promise<void> {
    const { db, clock } = this.#deps
    await this.#followApprovals()
    const nowMs = clock.wallMs()
    for (const connectionId of await db.read((tx) => listDueChats(tx, nowMs))) {
      if (this.#lanes.has(connectionId) || (this.#quietUntilMs.get(connectionId) ?? 0) > nowMs) continue
      const lane = this.#sendAll(connectionId, nowMs).finally(() => this.#lanes.delete(connectionId))
      this.#lanes.set(connectionId, lane)
    }
  }

  /** Approvals end by decisions, by time and by changes of their objects: only a look shows the last two. */
  async #followApprovals(): Promise<void> {
    const { db, clock } = this.#deps
    const nowMs = clock.wallMs()
    const now = new Date(nowMs).toISOString()
    const wanted = await db.read(async (tx) => {
      const unannounced = await listUnannouncedApprovals(tx, now)
      const made = unannounced.map((one) => ({ ...one, shown: null }))
      const open = (await listOpenApprovalMessages(tx)).flatMap((message) =>
        message.wanted.kind === 'approval'
          ? [
              {
                connectionId: message.connectionId,
                approvalId: message.wanted.approvalId,
                shown: stateText(message.wanted),
              },
            ]
          : [],
      )
      const changed = []
      for (const { connectionId, approvalId, shown } of [...made, ...open]) {
        const state = await approvalState(tx, approvalId, now)
        if (stateText(state) !== shown) changed.push({ connectionId, state })
      }
      return changed
    })
    if (wanted.length === 0) return
    await db.write(async (tx) => {
      for (const { connectionId, state } of wanted) {
        const subject = `approval:${state.approvalId}`
        await wantChatMessage(tx, { connectionId, subject, wanted: state }, nowMs)
      }
    })
  }

  async #sendAll(connectionId: string, nowMs: number): Promise<void> {
    const { db, secrets, writers, log } = this.#deps
    try {
      const connection = await db.read((tx) => findChatConnection(tx, connectionId))
      const writer = connection && writerOf(secrets, connection, writers)
      if (!connection?.channel || !writer) return
      const due = { connectionId, nowMs, limit: mostAtOnce }
      for (const message of await db.read((tx) => listDueChatMessages(tx, due))) {
        if (this.#abort.signal.aborted) return
        const sent = await this.#send(connection, writer, message)
        await this.#record(message, sent)
        // The others wait too: what keeps one message from a chat usually keeps them all.
        if (!sent.ok && !sent.gone) return
      }
    } catch (error) {
      log.warn({ err: error, connectionId }, 'chat messages could not be sent; retrying')
    }
  }

  async #send(
    { connectionId, channel }: StoredChatConnection,
    writer: ChatWriter,
    { wanted, thread, ts }: ChatMessage,
  ): Promise<Sent> {
    const { db } = this.#deps
    const text = await this.#textOf(wanted)
    if (text === null) return { ok: true, handle: ts }
    if (ts !== null) return writer.update(ts, text)
    const parent = thread && (await db.read((tx) => findChatMessage(tx, connectionId, thread)))
    return writer.post(channel!, text, parent ? parent.ts : null)
  }

  /** Null: there is nothing to show any more. */
  async #textOf(wanted: WantedMessage): Promise<ChatText | null> {
    const { db, describe, publicUrl } = this.#deps
    if (wanted.kind === 'alert') return alertMessage(wanted.notification)
    if (wanted.kind === 'run') return runMessage(wanted)
    if (wanted.kind === 'diagnosis') {
      const { notification } = wanted
      // The environment may be gone by now.
      const described = await describe(notification.appEnvId).catch(() => null)
      return described && diagnosisMessage(notification, described)
    }
    const { approvalId, status } = wanted
    return db.read(async (tx) => {
      const approval = await findApproval(tx, approvalId)
      if (!approval) return null
      const ids = [approval.requestedBy.userId, ...approval.decisions.map(({ userId }) => userId)]
      const users = await findUsers(tx, [...new Set(ids.filter((id) => id !== null))])
      const nameOf = (userId: string | null) => users.get(userId ?? '')?.name ?? null
      const requestedBy = { ...approval.requestedBy, name: nameOf(approval.requestedBy.userId) }
      const url = `${publicUrl()}/console/approvals/${approvalId}`
      const decisions = approval.decisions.map((one) => ({ ...one, name: nameOf(one.userId) }))
      return approvalMessage({
        ...{ ...approval, requestedBy, decisions, url },
        status: status as typeof approval.status,
      })
    })
  }

  /** A message that was shown must not be shown again and again while the store is down, so its lane waits. */
  #record(message: ChatMessage, sent: Sent): Promise<void> {
    const { db, clock } = this.#deps
    const outcome = sent.ok
      ? { sent: true as const, handle: sent.handle ?? message.ts }
      : { sent: false as const, ...this.#retry(message, sent) }
    return writeUntilStored(clock, this.#abort.signal, () =>
      db.write((tx) => recordChatAttempt(tx, message, outcome)),
    )
  }

  #retry({ connectionId, attempts: before }: ChatMessage, sent: Sent & { ok: false }) {
    const { clock, random = Math.random } = this.#deps
    const attempts = before + 1
    const delayMs = sent.retryAfterMs ?? retryDelayMs({ attempts, random: random() })
    const nextAtMs = clock.wallMs() + (sent.gone ? 0 : delayMs)
    if (!sent.gone) this.#quietUntilMs.set(connectionId, nextAtMs)
    return { nextAtMs, attempts, reason: sent.reason, forgetsHandle: sent.gone === true }
  }
}

async function approvalState(
  tx: Tx,
  approvalId: string,
  now: string,
): Promise<WantedMessage & { kind: 'approval' }> {
  const approval = await findApproval(tx, approvalId)
  if (!approval) return { kind: 'approval', approvalId, status: 'expired', decisions: 0 }
  const status = statusAt(approval, now)
  const isStale = status === 'pending' && (await movedBases(tx, approval)).length > 0
  return {
    ...{ kind: 'approval', approvalId, decisions: approval.decisions.length },
    status: isStale ? 'stale' : status,
  }
}

function stateText({ status, decisions }: { status: string; decisions: number }): string {
  return `${status} ${decisions}`
}
