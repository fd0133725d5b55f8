import type { Socket } from 'node:net'
import { BadChunk } from './chunk-scanner.ts'
import { stopReading } from './connection-handle.ts'
import { Exchange } from './exchange.ts'
import { answers, answerTo, type OwnAnswer, renderAnswer } from './own-answer.ts'
import type { PassOn, ProxyContext } from './proxy-context.ts'
import { ReadAhead } from './read-ahead.ts'
import { nowhere, RequestBody } from './request-body.ts'
import {
  type HeaderBlock,
  maxHeadBytes,
  parseRequestHead,
  type RequestHead,
  RequestRefused,
} from './request-head.ts'

const idleMs = 75_000
const headMs = 30_000
const stalledBodyMs = 60_000
const lingerMs = 2_000

/**
 * `head`: between requests or inside a request head. `body`: a request body is still coming. `answer`: the
 * request is complete, its answer is not. `discard`: answered, the rest of the body is still coming. `tunnel`: a
 * WebSocket. `passing`: another process takes it over. `closing`: answered for the last time.
 */
type Mode = 'head' | 'body' | 'answer' | 'discard' | 'tunnel' | 'passing' | 'closing' | 'closed'

/** One connection of a client: cuts it into requests, one after the other. */
export class ClientConnection {
  readonly socket: Socket
  readonly context: ProxyContext
  readonly remoteAddress: string
  #mode: Mode = 'head'
  #exchange: Exchange | null = null
  readonly #ahead = new ReadAhead()
  #paused = false
  /** When a wait of the present mode ends, monotonic. */
  #deadlineMs: number
  #body: RequestBody | null = null
  /** Of the last request: clients mostly send the same headers again. */
  #block: HeaderBlock | null = null

  constructor(socket: Socket, context: ProxyContext) {
    this.socket = socket
    this.context = context
    this.remoteAddress = (socket.remoteAddress ?? '').replace(/^::ffff:/, '')
    this.#deadlineMs = context.clock.monotonicMs() + headMs
    context.connections.add(this)
    socket.on('data', (piece: Buffer) => this.#read(piece))
    socket.on('drain', () => this.#exchange?.clientDrained())
    socket.on('end', () => this.#ended())
    socket.on('error', () => {})
    socket.on('close', () => this.#closed())
  }

  /** Goes on with what another process has read of this connection. */
  begin(read: Buffer): void {
    this.#read(read)
  }

  /** The request's answer is on its way; `keep`: the connection may carry another. */
  exchangeDone(keep: boolean): void {
    this.#exchange = null
    if (!keep || this.context.draining) this.end()
    else if (this.#mode === 'answer') this.#awaitHead()
    else if (this.#mode === 'body' && this.keepable) this.#discardRest()
    else this.end()
  }

  #awaitHead(): void {
    if (this.context.draining) {
      this.end()
      return
    }
    this.#mode = 'head'
    this.#deadlineMs = this.context.clock.monotonicMs() + idleMs
    this.resume()
    // Not at once: a long pipeline of refused requests would pile up calls.
    if (this.#ahead.bytes > 0) setImmediate(() => this.#mode === 'head' && this.#readHead(this.#ahead.take()))
  }

  #discardRest(): void {
    this.#mode = 'discard'
    const data = this.#ahead.bytes > 0 ? this.#ahead.take() : Buffer.alloc(0)
    this.resume()
    this.#discard(data)
  }

  #discard(data: Buffer): void {
    this.#deadlineMs = this.context.clock.monotonicMs() + stalledBodyMs
    const end = this.#body!.read(data, nowhere)
    if (end < data.length) this.#keep(data.subarray(end))
    if (this.#body!.complete) this.#awaitHead()
  }

  /** Answers by itself. The connection stays when the request has been read completely. */
  answer(answer: OwnAnswer, head: RequestHead | null): void {
    const keep = head?.keepAlive === true && this.#mode === 'answer' && !this.context.draining
    const close = !keep
    this.socket.write(renderAnswer(answer, { close, withBody: head?.method !== 'HEAD' }))
    this.exchangeDone(keep)
  }

  /** Sends what is written, then closes; reads on for a moment so that the client can read the answer. */
  end(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'closing'
    this.#exchange = null
    this.#ahead.replace(null)
    this.#deadlineMs = this.context.clock.monotonicMs() + lingerMs
    this.resume()
    this.socket.end()
  }

  /** Breaks the connection: the answer under way cannot be completed, and the client must see that. */
  break(): void {
    this.socket.destroy()
  }

  /** Hands over to a tunnel; returns the bytes that came early. */
  becomeTunnel(): Buffer | null {
    this.#mode = 'tunnel'
    const early = this.#ahead.bytes > 0 ? this.#ahead.take() : null
    this.resume()
    return early
  }

  /** The exchange can take the body now. */
  pumpBody(): void {
    if (this.#mode === 'body' && this.#ahead.bytes > 0) this.#readBody(this.#ahead.take())
    if (!this.#exchange?.upstreamFull) this.resume()
  }

  pause(): void {
    this.#paused = true
    this.socket.pause()
  }

  resume(): void {
    // The client cannot be blamed for the time in which it was not read.
    if (this.#mode === 'body') this.#deadlineMs = this.context.clock.monotonicMs() + stalledBodyMs
    if (!this.#paused || this.#ahead.isFull) return
    this.#paused = false
    this.socket.resume()
  }

  get requestComplete(): boolean {
    return this.#mode !== 'body'
  }

  /** Can carry another request although this one may be answered before it is complete. */
  get keepable(): boolean {
    return this.#mode !== 'body' || this.#body?.endsSoon === true
  }

  /** Ends an idle connection; a busy one ends with its answer. */
  drain(): void {
    if (this.#mode === 'head' && this.#ahead.bytes === 0) this.end()
  }

  sweep(nowMs: number): void {
    const exchange = this.#exchange
    if (exchange) exchange.sweep(nowMs)
    if (nowMs < this.#deadlineMs || this.#exchange !== exchange) return
    if (this.#mode === 'closing' || this.#mode === 'passing' || this.#mode === 'discard')
      this.socket.destroy()
    else if (this.#mode === 'body' && exchange?.waitsForBody) exchange.clientStalled()
    else if (this.#mode === 'head') {
      if (this.#ahead.bytes === 0) this.end()
      else this.answer(answers.slowRequest, null)
    }
  }

  #read(piece: Buffer): void {
    switch (this.#mode) {
      case 'head':
        this.#readHead(this.#ahead.followedBy(piece))
        return
      case 'body':
        if (this.#exchange?.takesBody && this.#ahead.bytes === 0) this.#readBody(piece)
        else this.#keep(piece)
        return
      case 'answer':
        this.#keep(piece)
        return
      case 'discard':
        this.#discard(piece)
        return
      case 'tunnel':
        this.#exchange?.tunnel?.clientData(piece)
        return
    }
  }

  #readHead(data: Buffer): void {
    let start = 0
    while (data[start] === 13 && data[start + 1] === 10) start += 2
    const text = data.toString('latin1', start, Math.min(data.length, start + maxHeadBytes))
    const end = text.indexOf('\r\n\r\n')
    if (end < 0) {
      this.#headIncomplete(data.subarray(start), text)
      return
    }
    this.#ahead.replace(data.length > start + end + 4 ? data.subarray(start + end + 4) : null)
    try {
      const head = parseRequestHead(text.slice(0, end), this.#block)
      this.#block = head.block
      this.#begin(head, data, start)
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error
      this.answer({ status: error.status, error: error.message, details: error.details }, null)
    }
  }

  #headIncomplete(data: Buffer, text: string): void {
    if (text.length >= maxHeadBytes) {
      this.answer(answers.headTooLarge, null)
      return
    }
    if (this.#ahead.bytes === 0 && data.length > 0) {
      this.#deadlineMs = this.context.clock.monotonicMs() + headMs
    }
    this.#ahead.replace(data.length > 0 ? data : null)
    // A first line that can be no request line is refused now, not after a time-out.
    if (/^[^\r\n]{0,4096}\n/.test(text)) this.answer(answers.notHttp, null)
  }

  /** `data` from `start` on is the request as far as it was read. */
  #begin(head: RequestHead, data: Buffer, start: number): void {
    this.#body = head.chunked || head.bodyLength > 0 ? new RequestBody(head) : null
    this.#mode = this.#body ? 'body' : 'answer'
    const { table, clock } = this.context
    const environment = table.find(head.host)
    if (!environment) {
      const passOn = this.context.elsewhere(head.host)
      if (passOn) this.#pass(passOn, data.subarray(start))
      else this.answer(table.heard ? answers.unknownHost : answers.notReady, head)
      return
    }
    const refusal = environment.turnAway()
    if (refusal) {
      this.answer(answerTo(refusal), head)
      return
    }
    const nowMs = clock.monotonicMs()
    this.#deadlineMs = nowMs + stalledBodyMs
    this.#exchange = new Exchange(this, head, environment, nowMs)
    environment.admit(this.#exchange)
  }

  #pass(passOn: PassOn, read: Buffer): void {
    stopReading(this.socket)
    this.#mode = 'passing'
    this.#ahead.replace(null)
    this.#deadlineMs = this.context.clock.monotonicMs() + headMs
    const pass = () => {
      if (!this.socket.destroyed) passOn(this.socket, read)
    }
    // The end of the last answer is sent from here, before anything that another process writes.
    if (this.socket.writableLength === 0) pass()
    else this.socket.write('', 'latin1', pass)
  }

  #readBody(data: Buffer): void {
    const exchange = this.#exchange
    if (!exchange) return
    this.#deadlineMs = this.context.clock.monotonicMs() + stalledBodyMs
    const body = this.#body!
    let end: number
    try {
      end = body.read(data, exchange)
    } catch (error) {
      if (!(error instanceof BadChunk)) throw error
      exchange.requestBroken(answers.badBody)
      return
    }
    if (body.complete) {
      this.#mode = 'answer'
      exchange.requestDone()
    }
    if (end < data.length) this.#keep(data.subarray(end))
  }

  #keep(piece: Buffer): void {
    this.#ahead.keep(piece)
    if (this.#ahead.isFull) this.pause()
  }

  /** A client that sends its FIN has left, unless it is a tunnel's: there each side ends by itself. */
  #ended(): void {
    if (this.#mode === 'tunnel') {
      this.#exchange?.tunnel?.clientEnded()
      return
    }
    if (this.#mode === 'closing') {
      this.socket.destroy()
      return
    }
    this.#exchange?.clientLeft()
    this.#exchange = null
    this.socket.end()
    this.#mode = 'closing'
    this.#deadlineMs = this.context.clock.monotonicMs() + lingerMs
  }

  #closed(): void {
    this.#mode = 'closed'
    this.context.connections.delete(this)
    const exchange = this.#exchange
    this.#exchange = null
    exchange?.clientLeft()
  }
}
