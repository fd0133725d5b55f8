import type { ServerResponse } from 'node:http'
import type { Cancel, Clock } from '../../../clock.ts'
import type { RequestId } from '../json-rpc.ts'
import type { JSONRPCMessage } from '../server.ts'

/** How a client resumes the stream of a response after its connection broke (`Last-Event-ID`). */
export interface Resumption {
  /** Name of the stream, unique in its session. */
  name: string
  /** Whether the client supports the empty first event that only carries an id (2025-11-25). */
  primes: boolean
  clock: Clock
  /** How long a broken stream is kept. */
  keptMs: number
}

interface PostResponseOptions {
  ids: readonly RequestId[]
  isBatch: boolean
  /** Whether the Accept header allows event streams. */
  streaming: 'allowed' | 'required' | 'refused'
  headers: Record<string, string>
  /** Null without a session; then a broken connection ends the response. */
  resumption: Resumption | null
  /** Called when its connection broke and its stream is kept for another one. */
  onBroken?(): void
  /** Called once at the end of the response, with the requests that stay unanswered. */
  onOver(unanswered: RequestId[]): void
}

/** Longer calls are answered on a stream, which can be resumed. */
const quickMs = 1_000
/** Reconnection delay for clients after a stream was closed. */
const retryMs = 1_000
/** Most events kept of a stream; the oldest, which are progress, are dropped first. */
const mostEvents = 256
/** Answers of this many characters fill a response; a list of all tools has 100,000. */
const fullAt = 256 * 1024
/** A client that leaves this much unread loses its connection. */
const mostUnreadBytes = 1024 ** 2

/**
 * The response to one POST, until all of its requests are answered. Plain JSON if only answers are sent; an event
 * stream from the first progress notification or question on, or, in a session, when a call takes long. The stream of a
 * session outlives its connection for a while.
 */
export class PostResponse {
  readonly #waiting: Set<RequestId>
  /** As JSON. */
  readonly #answers: string[] = []
  #characters = 0
  readonly #options: PostResponseOptions
  /** The connection; null while there is none. */
  #res: ServerResponse | null = null
  #isStream = false
  #isOver = false
  readonly #events: { seq: number; text: string }[] = []
  #nextSeq = 0
  #keepAlive: NodeJS.Timeout | undefined
  #cancelTimer: Cancel = () => {}

  constructor(res: ServerResponse, options: PostResponseOptions) {
    this.#waiting = new Set(options.ids)
    this.#options = options
    this.#use(res)
    const { resumption, streaming } = options
    if (resumption === null || streaming === 'refused') return
    this.#cancelTimer = resumption.clock.after(quickMs, () => this.#openStream())
  }

  /** Whether its requests should be answered elsewhere: a small batch can ask for megabytes. */
  get isFull(): boolean {
    return this.#characters > fullAt
  }

  get isBroken(): boolean {
    return this.#res === null && !this.#isOver
  }

  /** Characters that are kept for another connection. */
  get keptCharacters(): number {
    return this.#events.reduce((sum, { text }) => sum + text.length, 0)
  }

  has(id: RequestId): boolean {
    return this.#waiting.has(id)
  }

  /** Whether an event id belongs to this stream. */
  isOf(eventId: string): boolean {
    const { resumption } = this.#options
    return this.#isStream && resumption !== null && eventId.startsWith(`${resumption.name}.`)
  }

  /** Removes a canceled request, which gets no response. */
  drop(id: RequestId): void {
    if (this.#waiting.delete(id)) this.#finishWhenDone()
  }

  /** Sends a notification or question of one of the requests; false when the client cannot receive it. */
  note(message: JSONRPCMessage): boolean {
    if (this.#isOver || this.#options.streaming === 'refused') return false
    this.#openStream()
    this.#writeEvent(JSON.stringify(message))
    return true
  }

  answer(id: RequestId, message: JSONRPCMessage): void {
    if (!this.#waiting.delete(id)) return
    if (this.#options.streaming === 'required') this.#openStream()
    const json = JSON.stringify(message)
    this.#characters += json.length
    if (this.#isStream) this.#writeEvent(json)
    else this.#answers.push(json)
    this.#finishWhenDone()
  }

  /** Answers the remaining requests with an error and ends the response. */
  end(error: { code: number; message: string }): void {
    for (const id of [...this.#waiting]) this.answer(id, { jsonrpc: '2.0', id, error })
    if (this.#res === null) this.abandon()
  }

  /** Closes the connection on purpose if the client can resume the stream. */
  detach(): void {
    if (this.#options.resumption?.primes !== true || this.#options.streaming === 'refused') return
    this.#openStream()
    this.#res?.end()
  }

  /** Continues a stream on another connection, after the last event that the client received. */
  resume(res: ServerResponse, lastEventId: string): void {
    const seen = Number(lastEventId.slice(lastEventId.lastIndexOf('.') + 1))
    const before = this.#res
    this.#cancelTimer()
    this.#use(res)
    before?.end()
    this.#writeHead()
    for (const { seq, text } of this.#events) if (!(seq <= seen)) res.write(text)
    this.#finishWhenDone()
  }

  #use(res: ServerResponse): void {
    this.#res = res
    res.once('close', () => {
      // Another connection may have replaced it.
      if (this.#res === res) this.#lost(res)
    })
  }

  #lost(res: ServerResponse): void {
    clearInterval(this.#keepAlive)
    this.#cancelTimer()
    this.#res = null
    const { resumption } = this.#options
    const isNotified = this.#waiting.size === 0 && res.writableFinished
    if (isNotified || resumption === null || !this.#isStream) this.abandon()
    else {
      this.#cancelTimer = resumption.clock.after(resumption.keptMs, () => this.abandon())
      this.#options.onBroken?.()
    }
  }

  /** Ends it, whether its answers arrived or not. */
  abandon(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#cancelTimer()
    this.#options.onOver([...this.#waiting])
  }

  #finishWhenDone(): void {
    const res = this.#res
    if (this.#waiting.size > 0 || res === null || res.writableEnded) return
    this.#cancelTimer()
    clearInterval(this.#keepAlive)
    if (this.#isStream) {
      res.end()
      return
    }
    const [only] = this.#answers
    if (only === undefined) {
      res.writeHead(202, this.#options.headers).end()
      return
    }
    const body = this.#options.isBatch ? `[${this.#answers.join()}]` : only
    res.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...this.#options.headers,
    })
    res.end(body)
  }

  #openStream(): void {
    if (this.#isStream || this.#isOver) return
    this.#isStream = true
    this.#writeHead()
    const { resumption } = this.#options
    if (resumption?.primes === true) this.#write(`retry: ${retryMs}\ndata: \n\n`)
    for (const message of this.#answers.splice(0)) this.#writeEvent(message)
  }

  #writeHead(): void {
    const res = this.#res
    res?.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      ...this.#options.headers,
    })
    res?.flushHeaders()
    // Proxies close streams that are silent for a minute.
    clearInterval(this.#keepAlive)
    this.#keepAlive = setInterval(() => this.#res?.write(': still here\n\n'), 15_000)
    this.#keepAlive.unref()
  }

  #writeEvent(json: string): void {
    this.#write(`event: message\ndata: ${json}\n\n`)
    if ((this.#res?.writableLength ?? 0) > mostUnreadBytes) this.#res?.destroy()
  }

  #write(event: string): void {
    const { resumption } = this.#options
    if (resumption === null) {
      this.#res?.write(event)
      return
    }
    const seq = this.#nextSeq++
    const text = `id: ${resumption.name}.${seq}\n${event}`
    this.#events.push({ seq, text })
    if (this.#events.length > mostEvents) this.#events.shift()
    if (this.#res?.writableEnded === false) this.#res.write(text)
  }
}
