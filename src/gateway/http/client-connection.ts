import type { Socket } from 'node:net'
import { admitRequest, replyInstead } from './admission.ts'
import { BadChunk } from './chunk-scanner.ts'
import { ClientDeadline } from './client-deadline.ts'
import { handOffConnection, listenTo, resetConnection } from './connection-handle.ts'
import { pageIdOf } from './error-page.ts'
import type { Peer } from './forwarding.ts'
import { answers, type LocalReply, renderResult } from './local-reply.ts'
import type { ProxiedRequest } from './proxied-request.ts'
import type { Handoff, ProxyContext } from './proxy-context.ts'
import { ReadAhead } from './read-ahead.ts'
import { recordRefusedHead } from './refused-head.ts'
import { nowhere, RequestBody } from './request-body.ts'
import type { RequestClient } from './request-client.ts'
import { type RequestHead, RequestRefused } from './request-head.ts'
import { type ReadHead, RequestHeadReader } from './request-head-reader.ts'

/**
 * `head`: between requests or inside a request head. `body`: a request body is still arriving. `answer`: the request
 * is complete, its response is not. `discard`: answered, the rest of the body is still arriving. `tunnel`: a
 * WebSocket. `passing`: another process takes over. `closing`: the last response was sent.
 */
type Mode = 'head' | 'body' | 'answer' | 'discard' | 'tunnel' | 'passing' | 'closing' | 'closed'

/** One connection of a client: cuts it into requests. */
export class ClientConnection implements RequestClient {
  readonly socket: Socket
  readonly context: ProxyContext
  readonly peer: Peer
  #mode: Mode = 'head'
  #exchange: ProxiedRequest | null = null
  readonly #ahead = new ReadAhead()
  #paused = false
  readonly #deadline: ClientDeadline
  #body: RequestBody | null = null
  readonly #heads = new RequestHeadReader()
  /** Another process takes over the connection, while this one goes on to carry it. */
  readonly #leave: () => void

  constructor(socket: Socket, context: ProxyContext, peer: Peer) {
    this.socket = socket
    this.context = context
    this.peer = peer
    this.#deadline = new ClientDeadline(context.clock)
    context.connections.add(this)
    this.#leave = listenTo(socket, {
      data: (piece) => this.#read(piece),
      drain: () => this.#exchange?.clientDrained(),
      end: () => this.#ended(),
      close: () => this.#closed(),
    })
  }

  /** Continues with the bytes that another process has read from this connection. */
  begin(read: Buffer): void {
    this.#read(read)
  }

  requestDone(keep: boolean): void {
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
    this.#deadline.idle()
    this.resume()
    // Deferred: a long pipeline of rejected requests would nest calls.
    if (this.#ahead.bytes > 0) setImmediate(() => this.#mode === 'head' && this.#readHead(this.#ahead.take()))
  }

  #discardRest(): void {
    this.#mode = 'discard'
    this.resume()
    this.#discard(this.#ahead.take())
  }

  #discard(data: Buffer): void {
    this.#deadline.body()
    const end = this.#body!.read(data, nowhere)
    if (end < data.length) this.#keep(data.subarray(end))
    if (this.#body!.complete) this.#awaitHead()
  }

  answer(answer: LocalReply, head: RequestHead | null): void {
    const keep = head?.keepAlive === true && this.#mode === 'answer' && !this.context.draining
    const pageId = head && pageIdOf(head)
    this.socket.write(renderResult(answer, { close: !keep, withBody: head?.method !== 'HEAD', pageId }))
    this.requestDone(keep)
  }

  /** Sends the written data, then closes; keeps reading briefly so that the client can receive the reply. */
  end(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'closing'
    this.#exchange = null
    this.#ahead.replace(null)
    this.#deadline.linger()
    this.resume()
    this.socket.end()
  }

  break(): void {
    this.socket.destroy()
  }

  drained(): void {
    const exchange = this.#exchange
    exchange?.drained()
    if (!exchange?.tunnel) this.break()
  }

  becomeTunnel(): Buffer | null {
    this.#mode = 'tunnel'
    const early = this.#ahead.bytes > 0 ? this.#ahead.take() : null
    this.resume()
    return early
  }

  pumpBody(): void {
    if (this.#mode === 'body' && this.#ahead.bytes > 0) this.#readBody(this.#ahead.take())
    if (!this.#exchange?.upstreamFull) this.resume()
  }

  pause(): void {
    this.#paused = true
    this.socket.pause()
  }

  resume(): void {
    // The time while reading was paused does not count against the client.
    if (this.#mode === 'body') this.#deadline.body()
    if (!this.#paused || this.#ahead.isFull) return
    this.#paused = false
    this.socket.resume()
  }

  get requestComplete(): boolean {
    return this.#mode !== 'body'
  }

  get keepable(): boolean {
    return this.#mode !== 'body' || this.#body?.endsSoon === true
  }

  /** Closes an idle connection; a busy one closes after its response. */
  drain(): void {
    if (this.#mode === 'head' && this.#ahead.bytes === 0) this.end()
  }

  sweep(nowMs: number): void {
    const exchange = this.#exchange
    if (exchange) exchange.sweep(nowMs)
    if (this.socket.writableLength > 0) this.#sweepUnread(nowMs)
    if (this.socket.destroyed || !this.#deadline.hasPassed(nowMs) || this.#exchange !== exchange) return
    if (this.#mode === 'closing' || this.#mode === 'passing' || this.#mode === 'discard')
      this.socket.destroy()
    else if (this.#mode === 'body' && exchange?.waitsForBody) exchange.clientStalled()
    else if (this.#mode === 'head') {
      if (this.#ahead.bytes === 0) this.end()
      else this.answer(answers.slowRequest, null)
    }
  }

  #sweepUnread(nowMs: number): void {
    if (this.#deadline.isUnread(this.socket, nowMs)) resetConnection(this.socket)
    else if (this.#mode === 'closing' || this.#mode === 'passing' || this.#mode === 'discard') {
      this.#deadline.lingerAfterWrites(nowMs)
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
      case 'closing':
        this.#deadline.lingerOn()
    }
  }

  #readHead(data: Buffer): void {
    let read: ReadHead
    try {
      read = this.#heads.read(data)
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error
      const handOff = recordRefusedHead(this, data, error)
      if (handOff) this.#pass(handOff, data)
      else this.answer({ status: error.status, error: error.message, details: error.details }, null)
      return
    }
    const { head, start, end } = read
    if (!head && this.#ahead.bytes === 0 && data.length > start) {
      this.#deadline.head()
    }
    this.#ahead.replace(data.length > end ? data.subarray(end) : null)
    if (head) this.#begin(head, data, start)
  }

  /** `data` from `start` on is the request as far as it has arrived. */
  #begin(head: RequestHead, data: Buffer, start: number): void {
    this.#body = head.chunked || head.bodyLength > 0 ? new RequestBody(head) : null
    this.#mode = this.#body ? 'body' : 'answer'
    const { table } = this.context
    const environment = table.find(head.host)
    const reply = replyInstead(this, environment, head)
    if (reply) {
      this.answer(reply, head)
      return
    }
    if (!environment) {
      const handOff = this.context.elsewhere(head.host)
      if (handOff) this.#pass(handOff, data.subarray(start))
      else this.answer(table.heard ? answers.unknownHost : answers.notReady, head)
      return
    }
    this.#deadline.body()
    admitRequest(this, head, environment, (request) => {
      this.#exchange = request
    })
  }

  #pass(handOff: Handoff, read: Buffer): void {
    this.#mode = 'passing'
    this.#ahead.replace(null)
    this.#deadline.head()
    handOffConnection(this.socket, () => handOff(this.socket, read, this.peer), this.#leave)
  }

  #readBody(data: Buffer): void {
    const exchange = this.#exchange
    if (!exchange) return
    this.#deadline.body()
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

  /** A client that sends FIN has disconnected, except in a tunnel, where each side ends separately. */
  #ended(): void {
    if (this.#mode === 'tunnel') {
      this.#exchange?.tunnel?.clientEnded()
      return
    }
    // Both sides have ended: the socket closes itself when all is written.
    if (this.#mode === 'closing') return
    this.#exchange?.clientLeft()
    this.#exchange = null
    this.socket.end()
    this.#mode = 'closing'
    this.#deadline.linger()
  }

  #closed(): void {
    this.#mode = 'closed'
    this.context.connections.delete(this)
    const exchange = this.#exchange
    this.#exchange = null
    exchange?.clientLeft()
  }
}
