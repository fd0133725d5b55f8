import type { IncomingHttpHeaders } from 'node:http'
import type { Outbound } from '../alerting/notifiers/outbound.ts'
import { type Clock, sleep } from '../clock.ts'
import type { StoredChatConnection } from '../domain/chat/connection.ts'
import { AppError } from '../errors.ts'
import { jsonOrNull } from '../json-or-null.ts'
import type { Log } from '../log.ts'
import type { OperationRunner } from '../operations/core/call.ts'
import type { Db } from '../store/db.ts'
import { findChatConnection } from '../store/repositories/chat-connections.ts'
import { noteChatRequest } from '../store/repositories/chat-requests.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'
import type { ChatReply, Incoming } from './chat.ts'
import { secretOf, writerOf } from './connections.ts'
import type { Responder } from './responder.ts'
import { laidOutReply } from './slack/layout.ts'
import { incomingOf } from './slack/payloads.ts'
import { checkedSignature } from './slack/signature.ts'
import type { createWriters } from './slack/web-api.ts'

/** The chat shows an error after three seconds without an answer. */
const answerWithinMs = 2_000
/** How often an answer is sent to the address for later answers. */
const attempts = 4

interface ReceiverDeps {
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  runner: OperationRunner
  responder: Responder
  writers: ReturnType<typeof createWriters>
  outbound: Outbound
}

/** The body of the answer to a request of a chat; empty: only that it arrived. */
type HookAnswer = string

/** Takes what chats send, over HTTP or a socket: accepts each request once, and answers it. */
export class Receiver {
  readonly #deps: ReceiverDeps
  readonly #answering = new Set<Promise<void>>()

  constructor(deps: ReceiverDeps) {
    this.#deps = deps
  }

  /** Waits for answers in progress; no more are taken by then. */
  async stop(): Promise<void> {
    await Promise.allSettled([...this.#answering])
  }

  /**
   * One HTTP request. Throws `unauthenticated` with the same bytes for an unknown connection, a wrong signature, an old
   * request and one that was accepted before.
   */
  async hook(
    connectionId: string,
    { headers, body, address }: { headers: IncomingHttpHeaders; body: Buffer; address: string },
  ): Promise<HookAnswer> {
    const connection = await this.#deps.db.read((tx) => findChatConnection(tx, connectionId))
    const signature = connection && this.#signatureOf(connection, headers, body)
    if (!connection || !signature) throw await this.#refused(address)
    const form = new URLSearchParams(body.toString('utf8'))
    const payload = form.get('payload')
    const incoming = incomingOf(payload === null ? Object.fromEntries(form) : jsonOrNull(payload))
    const ids = [signature, ...(incoming?.ids ?? [])]
    if (!(await this.#isNew(connectionId, ids))) throw await this.#refused(address)
    if (form.get('ssl_check') === '1') return ''
    if (!incoming) throw new AppError('invalid', 'Invalid request', { details: 'No command, click or form.' })
    const answering = this.#responding(connection, incoming)
    const early = incoming.kind === 'command' ? await this.#within(answering) : 'late'
    if (early === 'late') {
      this.#later(incoming, answering)
      return incoming.kind === 'command' ? textOf({ title: 'Working on it…', lines: [] }) : ''
    }
    return early === null ? '' : textOf(early)
  }

  /** One request over a socket, which the chat has opened for this connection. */
  async take(connection: StoredChatConnection, incoming: Incoming): Promise<void> {
    if (!(await this.#isNew(connection.connectionId, incoming.ids))) return
    this.#later(incoming, this.#responding(connection, incoming))
  }

  #signatureOf(connection: StoredChatConnection, headers: IncomingHttpHeaders, body: Buffer): string | null {
    const { clock, secrets } = this.#deps
    const signingSecret = secretOf(secrets, connection, 'signingSecret')
    return signingSecret === null
      ? null
      : checkedSignature(headers, body, { signingSecret, nowMs: clock.wallMs() })
  }

  #isNew(connectionId: string, ids: readonly string[]): Promise<boolean> {
    const { db, clock } = this.#deps
    const at = new Date(clock.wallMs()).toISOString()
    return db.write((tx) => noteChatRequest(tx, connectionId, ids, at))
  }

  /** Counts against the address, as a wrong token does. */
  async #refused(address: string): Promise<AppError> {
    const counted = await this.#deps.runner
      .authenticate(null, { address, reads: false })
      .catch((error: unknown) => error)
    if (counted instanceof AppError && counted.kind === 'rate-limited') return counted
    return new AppError('unauthenticated', 'Request not authenticated', {
      details: 'The signature does not belong to it, it is older than five minutes, or it was sent before.',
    })
  }

  async #responding(connection: StoredChatConnection, incoming: Incoming): Promise<ChatReply | null> {
    const { responder, secrets, writers, log } = this.#deps
    try {
      return await responder.answer(connection, incoming, writerOf(secrets, connection, writers))
    } catch (error) {
      log.error({ err: error, connectionId: connection.connectionId }, 'a request of a chat failed')
      return { title: 'This failed because of a bug of the platform; nothing else is known.', lines: [] }
    }
  }

  async #within(answering: Promise<ChatReply | null>): Promise<ChatReply | null | 'late'> {
    const stop = new AbortController()
    const late = sleep(this.#deps.clock, answerWithinMs, stop.signal).then(
      () => 'late' as const,
      () => 'late' as const,
    )
    const first = await Promise.race([answering, late])
    stop.abort()
    return first
  }

  /** Sends the answer to the address that came with the request, by the rules for addresses of webhooks. */
  #later({ responseUrl }: Incoming, answering: Promise<ChatReply | null>): void {
    const sending = answering
      .then((reply) => (reply === null || responseUrl === null ? undefined : this.#send(responseUrl, reply)))
      .finally(() => this.#answering.delete(sending))
    this.#answering.add(sending)
  }

  async #send(responseUrl: string, reply: ChatReply): Promise<void> {
    const { outbound, clock, log } = this.#deps
    for (let attempt = 1; ; attempt += 1) {
      const sent = await outbound({
        url: responseUrl,
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body: textOf(reply),
      })
      if (sent.ok) return
      if (!sent.retry || attempt === attempts) {
        log.warn({ reason: sent.reason }, 'an answer did not reach the chat')
        return
      }
      await sleep(clock, sent.retryAfterMs ?? 1_000 * 2 ** attempt)
    }
  }
}

function textOf(reply: ChatReply): string {
  return JSON.stringify(laidOutReply(reply))
}
