import type { ServerResponse } from 'node:http'
import type { RequestId } from './json-rpc.ts'
import type { JSONRPCMessage } from './server.ts'

/**
 * One POST under way: the requests it carried and the response they are answered on. Plain JSON when the
 * answers are all there is to say; an event stream from the first progress note or question on.
 */
export class HttpExchange {
  readonly #waiting: Set<RequestId>
  readonly #answers: JSONRPCMessage[] = []
  readonly #streaming: 'allowed' | 'required' | 'refused'
  #keepAlive: NodeJS.Timeout | undefined

  constructor(
    private readonly res: ServerResponse,
    private readonly options: {
      ids: readonly RequestId[]
      isBatch: boolean
      /** What the Accept header takes. */
      streaming: 'allowed' | 'required' | 'refused'
      headers: Record<string, string>
    },
  ) {
    this.#waiting = new Set(options.ids)
    this.#streaming = options.streaming
    res.once('close', () => clearInterval(this.#keepAlive))
  }

  has(id: RequestId): boolean {
    return this.#waiting.has(id)
  }

  /** A request nobody will answer, as it was cancelled. */
  drop(id: RequestId): void {
    if (this.#waiting.delete(id)) this.#finishWhenDone()
  }

  /** A note or question that belongs to one of the requests; false when the client takes no stream. */
  note(message: JSONRPCMessage): boolean {
    if (this.#streaming === 'refused' || this.res.destroyed) return false
    this.#openStream()
    this.#writeEvent(message)
    return true
  }

  answer(id: RequestId, message: JSONRPCMessage): void {
    if (!this.#waiting.delete(id)) return
    if (this.#streaming === 'required') this.#openStream()
    if (this.res.headersSent) this.#writeEvent(message)
    else this.#answers.push(message)
    this.#finishWhenDone()
  }

  #finishWhenDone(): void {
    if (this.#waiting.size > 0 || this.res.writableEnded) return
    clearInterval(this.#keepAlive)
    if (this.res.headersSent) {
      this.res.end()
      return
    }
    const [only] = this.#answers
    if (only === undefined) {
      this.res.writeHead(202, this.options.headers).end()
      return
    }
    const body = JSON.stringify(this.options.isBatch ? this.#answers : only)
    this.res.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...this.options.headers,
    })
    this.res.end(body)
  }

  #openStream(): void {
    if (this.res.headersSent) return
    this.res.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      ...this.options.headers,
    })
    // Proxies on the way close streams that are silent for a minute.
    this.#keepAlive = setInterval(() => this.res.write(': still here\n\n'), 15_000)
    this.#keepAlive.unref()
    for (const message of this.#answers.splice(0)) this.#writeEvent(message)
  }

  #writeEvent(message: JSONRPCMessage): void {
    this.res.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
  }
}
