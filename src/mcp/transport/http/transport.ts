import type { IncomingHttpHeaders } from 'node:http'
import { yieldAlone } from '../../../pacer.ts'
import { withPlainError } from '../invalid-params.ts'
import { cancelledIdOf, type RequestId } from '../json-rpc.ts'
import { type JSONRPCMessage, type Transport, versionHeader } from '../server.ts'
import type { PostResponse } from './post-response.ts'

/** Characters of broken streams that a session keeps. */
const mostBroken = 1024 ** 2

/** The transport of the library's server: routes its messages to the responses of the POSTs. */
export class HttpTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  readonly #responses = new Set<PostResponse>()
  #nextStream = 1

  async start(): Promise<void> {}

  get isIdle(): boolean {
    return this.#responses.size === 0
  }

  /** A name for the stream of another response. */
  newStreamName(): string {
    return `s${this.#nextStream++}`
  }

  /** Accepts the messages of one POST by the caller with `token`; their answers go to `response`. */
  accept(
    messages: readonly JSONRPCMessage[],
    response: PostResponse | null,
    { token, headers }: { token: string; headers: IncomingHttpHeaders },
  ): void {
    if (response !== null) this.#responses.add(response)
    const extra = {
      authInfo: { token, clientId: '', scopes: [] },
      requestInfo: { headers: { [versionHeader]: headers[versionHeader] } },
      ...(response === null ? {} : { closeSSEStream: () => response.detach() }),
    }
    void this.#deliver(messages, response, extra)
  }

  /** The messages of a batch one by one: each may take milliseconds, such as a list of all tools. */
  async #deliver(
    messages: readonly JSONRPCMessage[],
    response: PostResponse | null,
    extra: Parameters<NonNullable<Transport['onmessage']>>[1],
  ): Promise<void> {
    for (const [index, message] of messages.entries()) {
      if (index > 0) await yieldAlone()
      if (response !== null && !this.#responses.has(response)) return
      this.#dropCanceled(message)
      if (response?.isFull && 'method' in message && 'id' in message)
        response.answer(message.id, { jsonrpc: '2.0', id: message.id, error: tooMuch })
      else this.onmessage?.(message, extra)
    }
  }

  /** Ends the oldest broken streams when those of the session hold too much. */
  boundBroken(): void {
    let characters = 0
    for (const response of [...this.#responses].reverse()) {
      if (!response.isBroken) continue
      characters += response.keptCharacters
      if (characters > mostBroken) response.abandon()
    }
  }

  /** Removes an ended response and cancels its unanswered calls. */
  forget(response: PostResponse, unanswered: readonly RequestId[]): void {
    this.#responses.delete(response)
    for (const requestId of unanswered) {
      const params = { requestId, reason: 'the client disconnected' }
      this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    }
  }

  /** The response whose stream has this event id. */
  streamOf(eventId: string): PostResponse | undefined {
    for (const response of this.#responses) if (response.isOf(eventId)) return response
    return undefined
  }

  async send(message: JSONRPCMessage, options?: { relatedRequestId?: RequestId }): Promise<void> {
    const answered = 'method' in message ? undefined : message.id
    const id = answered ?? options?.relatedRequestId
    const response = id === undefined ? undefined : this.#responseTo(id)
    if (response === undefined) return
    if (answered !== undefined) response.answer(answered, withPlainError(message))
    else if (!response.note(message) && 'id' in message) {
      throw new Error('the client does not accept an event stream, so it cannot receive questions')
    }
  }

  /** Ends all responses with an error. */
  async close(): Promise<void> {
    for (const response of [...this.#responses]) response.end(calledOff)
    this.onclose?.()
  }

  #responseTo(id: RequestId): PostResponse | undefined {
    for (const response of this.#responses) if (response.has(id)) return response
    return undefined
  }

  /** The library never answers a canceled request, so its response must not wait for it. */
  #dropCanceled(message: JSONRPCMessage): void {
    const id = cancelledIdOf(message)
    if (id !== undefined) this.#responseTo(id)?.drop(id)
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
