import type { IncomingHttpHeaders } from 'node:http'
import { yieldAlone } from '../../../pacer.ts'
import { withPlainError } from '../invalid-params.ts'
import { cancelledIdOf, type RequestId } from '../json-rpc.ts'
import { type JSONRPCMessage, type Transport, versionHeader } from '../server.ts'
import type { HttpExchange } from './exchange.ts'

/** Characters of broken streams that a session keeps. */
const mostBroken = 1024 ** 2

/** The transport of the library's server: routes its messages to their exchanges. */
export class HttpTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  readonly #exchanges = new Set<HttpExchange>()
  #nextStream = 1

  async start(): Promise<void> {}

  get isIdle(): boolean {
    return this.#exchanges.size === 0
  }

  /** A name for the stream of another exchange. */
  newStreamName(): string {
    return `s${this.#nextStream++}`
  }

  /** Accepts the messages of one POST by the caller with `token`; their responses go to `exchange`. */
  accept(
    messages: readonly JSONRPCMessage[],
    exchange: HttpExchange | null,
    { token, headers }: { token: string; headers: IncomingHttpHeaders },
  ): void {
    if (exchange !== null) this.#exchanges.add(exchange)
    const extra = {
      authInfo: { token, clientId: '', scopes: [] },
      requestInfo: { headers: { [versionHeader]: headers[versionHeader] } },
      ...(exchange === null ? {} : { closeSSEStream: () => exchange.detach() }),
    }
    void this.#deliver(messages, exchange, extra)
  }

  /** The messages of a batch one by one: each may take milliseconds, such as a list of all tools. */
  async #deliver(
    messages: readonly JSONRPCMessage[],
    exchange: HttpExchange | null,
    extra: Parameters<NonNullable<Transport['onmessage']>>[1],
  ): Promise<void> {
    for (const [index, message] of messages.entries()) {
      if (index > 0) await yieldAlone()
      if (exchange !== null && !this.#exchanges.has(exchange)) return
      this.#dropCanceled(message)
      if (exchange?.isFull && 'method' in message && 'id' in message)
        exchange.answer(message.id, { jsonrpc: '2.0', id: message.id, error: tooMuch })
      else this.onmessage?.(message, extra)
    }
  }

  /** Ends the oldest broken streams when those of the session hold too much. */
  boundBroken(): void {
    let characters = 0
    for (const exchange of [...this.#exchanges].reverse()) {
      if (!exchange.isBroken) continue
      characters += exchange.keptCharacters
      if (characters > mostBroken) exchange.abandon()
    }
  }

  /** Removes an ended exchange and cancels its unanswered calls. */
  forget(exchange: HttpExchange, unanswered: readonly RequestId[]): void {
    this.#exchanges.delete(exchange)
    for (const requestId of unanswered) {
      const params = { requestId, reason: 'the client disconnected' }
      this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    }
  }

  /** The exchange whose stream has this event id. */
  streamOf(eventId: string): HttpExchange | undefined {
    for (const exchange of this.#exchanges) if (exchange.isOf(eventId)) return exchange
    return undefined
  }

  async send(message: JSONRPCMessage, options?: { relatedRequestId?: RequestId }): Promise<void> {
    const answered = 'method' in message ? undefined : message.id
    const id = answered ?? options?.relatedRequestId
    const exchange = id === undefined ? undefined : this.#exchangeOf(id)
    if (exchange === undefined) return
    if (answered !== undefined) exchange.answer(answered, withPlainError(message))
    else if (!exchange.note(message) && 'id' in message) {
      throw new Error('the client does not accept an event stream, so it cannot receive questions')
    }
  }

  /** Ends all exchanges with an error. */
  async close(): Promise<void> {
    for (const exchange of [...this.#exchanges]) exchange.end(calledOff)
    this.onclose?.()
  }

  #exchangeOf(id: RequestId): HttpExchange | undefined {
    for (const exchange of this.#exchanges) if (exchange.has(id)) return exchange
    return undefined
  }

  /** The library never answers a canceled request, so its exchange must not wait for it. */
  #dropCanceled(message: JSONRPCMessage): void {
    const id = cancelledIdOf(message)
    if (id !== undefined) this.#exchangeOf(id)?.drop(id)
  }
}

const tooMuch = {
  code: -32600,
  message: 'Not run: the answers of this batch are long already. Send this request by itself.',
}

const calledOff = {
  code: -32000,
  message:
    'Canceled: the session ended, or the platform is stopping. Accepted work continues; read the current state before repeating a write.',
}
