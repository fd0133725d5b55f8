import type { Clock } from '../clock.ts'
import type { StoredChatConnection } from '../domain/chat/connection.ts'
import type { Log } from '../log.ts'
import type { Db } from '../store/db.ts'
import { findChatConnection, listChatConnectionsOf } from '../store/repositories/chat-connections.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'
import { Worker } from '../worker.ts'
import type { ChatSocket, Incoming } from './chat.ts'
import { secretOf } from './connections.ts'
import type { Receiver } from './receiver.ts'
import { openSlackSocket } from './slack/socket.ts'

const pollEveryMs = 2_000

interface OpenSocket {
  revision: number
  /** Null: it could not be opened. */
  socket: Promise<ChatSocket | null>
}

interface SocketsDeps {
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  receiver: Receiver
  apiBase: string
}

/** Keeps a socket open for each connection of kind slack-socket, and opens another one when its secrets change. */
export class ChatSockets {
  readonly #deps: SocketsDeps
  readonly #worker: Worker
  readonly #open = new Map<string, OpenSocket>()

  constructor(deps: SocketsDeps) {
    this.#deps = deps
    const { clock, log } = deps
    this.#worker = new Worker({
      clock,
      everyMs: pollEveryMs,
      pass: () => this.#poll(),
      failed: (error) => log.warn({ err: error }, 'chat connections could not be read; retrying'),
    })
  }

  start(): void {
    this.#worker.start()
    this.#worker.wake()
  }

  async stop(): Promise<void> {
    await this.#worker.stop()
    await Promise.all([...this.#open.keys()].map((connectionId) => this.#close(connectionId)))
  }

  async #poll(): Promise<void> {
    const all = await this.#deps.db.read((tx) => listChatConnectionsOf(tx, null))
    const wanted = new Map(
      all.flatMap((one) => (one.kind === 'slack-socket' ? [[one.connectionId, one] as const] : [])),
    )
    for (const [connectionId, { revision }] of this.#open)
      if (wanted.get(connectionId)?.revision !== revision) await this.#close(connectionId)
    for (const [connectionId, connection] of wanted) {
      if (this.#open.has(connectionId)) continue
      const { revision } = connection
      const opened = { revision, socket: this.#opened(connection) }
      this.#open.set(connectionId, opened)
      void opened.socket.then((socket) => {
        if (socket === null) this.#retryLater(connectionId, opened)
      })
    }
  }

  /** Null if that fails: Slack may be unreachable, or the token wrong. */
  async #opened(connection: StoredChatConnection): Promise<ChatSocket | null> {
    const { secrets, apiBase, log } = this.#deps
    const { connectionId } = connection
    try {
      const appToken = secretOf(secrets, connection, 'appToken') ?? ''
      const botToken = secretOf(secrets, connection, 'botToken') ?? ''
      return await openSlackSocket({ appToken, botToken, apiBase, log }, (incoming) =>
        this.#take(connectionId, incoming),
      )
    } catch (error) {
      // Messages of the library may quote requests.
      log.warn({ connectionId, error: (error as Error).name }, 'the chat cannot be reached; retrying')
      return null
    }
  }

  /** The entry may have been replaced in between: then its connection has another socket. */
  #retryLater(connectionId: string, failed: OpenSocket): void {
    this.#deps.clock.after(pollEveryMs, () => {
      if (this.#open.get(connectionId) === failed) this.#open.delete(connectionId)
    })
  }

  /** The connection as it is now: it may have been deleted since the socket was opened. */
  async #take(connectionId: string, incoming: Incoming): Promise<void> {
    const { db, receiver } = this.#deps
    const connection = await db.read((tx) => findChatConnection(tx, connectionId))
    if (connection) await receiver.take(connection, incoming)
  }

  async #close(connectionId: string): Promise<void> {
    const found = this.#open.get(connectionId)
    this.#open.delete(connectionId)
    const socket = await found?.socket
    await socket?.stop().catch(() => {})
  }
}
