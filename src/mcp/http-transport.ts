import type { HttpExchange } from './http-exchange.ts'
import { cancelledIdOf, type RequestId } from './json-rpc.ts'
import type { JSONRPCMessage, Transport } from './server.ts'

/** What the library's server is connected to: hands its messages to the exchange they belong to. */
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

  /** Takes the messages of one POST; their answers go to `exchange`, their caller is `token`. */
  accept(messages: readonly JSONRPCMessage[], exchange: HttpExchange | null, token: string): void {
    if (exchange !== null) this.#exchanges.add(exchange)
    const extra = {
      authInfo: { token, clientId: '', scopes: [] },
      ...(exchange === null ? {} : { closeSSEStream: () => exchange.detach() }),
    }
    for (const message of messages) {
      this.#dropCancelled(message)
      this.onmessage?.(message, extra)
    }
  }

  /** The exchange is over; calls whose answer nobody can get any more are called off. */
  forget(exchange: HttpExchange, unanswered: readonly RequestId[]): void {
    this.#exchanges.delete(exchange)
    for (const requestId of unanswered) {
      const params = { requestId, reason: 'the client is gone' }
      this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    }
  }

  /** The exchange whose stream an event id is of. */
  streamOf(eventId: string): HttpExchange | undefined {
    for (const exchange of this.#exchanges) if (exchange.isOf(eventId)) return exchange
    return undefined
  }

  async send(message: JSONRPCMessage, options?: { relatedRequestId?: RequestId }): Promise<void> {
    const answered = 'method' in message ? undefined : message.id
    const id = answered ?? options?.relatedRequestId
    const exchange = id === undefined ? undefined : this.#exchangeOf(id)
    if (exchange === undefined) return
    if (answered !== undefined) exchange.answer(answered, message)
    else if (!exchange.note(message) && 'id' in message) {
      throw new Error('the client takes no event stream, so it cannot be asked')
    }
  }

  /** Nobody answers any more: what waits is told so. */
  async close(): Promise<void> {
    for (const exchange of [...this.#exchanges]) exchange.end(calledOff)
    this.onclose?.()
  }

  #exchangeOf(id: RequestId): HttpExchange | undefined {
    for (const exchange of this.#exchanges) if (exchange.has(id)) return exchange
    return undefined
  }

  /** The library answers a cancelled request with nothing, so its exchange must not wait for it. */
  #dropCancelled(message: JSONRPCMessage): void {
    const id = cancelledIdOf(message)
    if (id !== undefined) this.#exchangeOf(id)?.drop(id)
  }
}

const calledOff = {
  code: -32000,
  message:
    'Called off: the session ended, or the platform stops. What was accepted goes on; look at the state before repeating a write.',
}
