import type { HttpExchange } from './http-exchange.ts'
import { cancelledIdOf, type RequestId } from './json-rpc.ts'
import type { JSONRPCMessage, Transport } from './server.ts'

/** What the library's server is connected to: hands its messages to the exchange they belong to. */
export class HttpTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  readonly #exchanges = new Set<HttpExchange>()

  async start(): Promise<void> {}

  /** Takes the messages of one POST; their answers go to `exchange`, their caller is `token`. */
  accept(messages: readonly JSONRPCMessage[], exchange: HttpExchange | null, token: string): void {
    if (exchange !== null) this.#exchanges.add(exchange)
    for (const message of messages) {
      this.#dropCancelled(message)
      this.onmessage?.(message, { authInfo: { token, clientId: '', scopes: [] } })
    }
  }

  forget(exchange: HttpExchange): void {
    this.#exchanges.delete(exchange)
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

  async close(): Promise<void> {
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
