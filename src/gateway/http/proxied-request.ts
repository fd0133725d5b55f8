import type { CutResponse } from '../control/request-record.ts'
import type { Backend } from '../routing/backend.ts'
import type { Refusal, Waiter } from '../routing/request-queue.ts'
import type { RequestScheduler } from '../routing/request-scheduler.ts'
import type { UpstreamConnection, UpstreamUser } from '../upstream/connection.ts'
import { lastChunk, mayBeSentTwice, renderRequest, writeChunk } from '../upstream/request.ts'
import { answers, answerTo, badAnswer, type LocalReply } from './local-reply.ts'
import { RequestAccount } from './request-account.ts'
import type { RequestClient } from './request-client.ts'
import { RequestDeadlines } from './request-deadlines.ts'
import type { RequestHead } from './request-head.ts'
import { type ResponseHead, renderUpgrade } from './response-head.ts'
import { Tunnel } from './tunnel.ts'
import { UpstreamResponse } from './upstream-response.ts'

/** A connect that takes longer is abandoned: no byte was sent, so another container can serve the request. */
const connectMs = 3_000
/** A request that must not be sent twice only takes a connection that was used this recently. */
const freshMs = 1_000

/** `waiting` for a slot, `connecting`, `head`: sent, no response yet, `body`: the response is relayed. */
type Phase = 'waiting' | 'connecting' | 'head' | 'body' | 'tunnel' | 'done'

/** One request from its head to the last byte of its response; holds a slot of one container meanwhile. */
export class ProxiedRequest implements Waiter, UpstreamUser {
  readonly #client: RequestClient
  readonly #head: RequestHead
  readonly #environment: RequestScheduler
  readonly #account: RequestAccount
  readonly #deadlines: RequestDeadlines
  readonly #response: UpstreamResponse
  #phase: Phase = 'waiting'
  #container: Backend | null = null
  #upstream: UpstreamConnection | null = null
  #connectingSinceMs = 0
  /** Set once the container has agreed to a WebSocket. */
  tunnel: Tunnel | null = null
  /** The container reads slower than the client writes. */
  upstreamFull = false

  constructor(client: RequestClient, head: RequestHead, environment: RequestScheduler, nowMs: number) {
    this.#client = client
    this.#head = head
    this.#environment = environment
    this.#account = new RequestAccount(client, head, environment, nowMs)
    this.#deadlines = new RequestDeadlines(environment, client.requestComplete, nowMs)
    this.#response = new UpstreamResponse(client, head, environment)
  }

  // --- the slot

  assigned(container: Backend): void {
    this.#container = container
    this.#account.container = container.name
    const maxIdleMs = mayBeSentTwice(this.#head) ? Number.POSITIVE_INFINITY : freshMs
    this.#upstream = container.pool.takeIdle(this, this.#nowMs(), maxIdleMs)
    if (this.#upstream) this.#sendHead()
    else this.#connect(container)
  }

  refused(refusal: Refusal): void {
    this.#fail(answerTo(refusal))
  }

  awaitsStart(): void {
    this.#account.coldStart = true
  }

  // --- the client's side

  get takesBody(): boolean {
    return this.#phase === 'head' || this.#phase === 'body'
  }

  /** The container could take more of the body, but the client does not send it. */
  get waitsForBody(): boolean {
    return this.takesBody && !this.upstreamFull
  }

  requestPiece(piece: Buffer): void {
    this.#account.bytesIn += piece.length
    if (this.#upstream?.socket.write(piece) === false) this.#upstreamIsFull()
  }

  requestChunk(data: Buffer): void {
    this.#account.bytesIn += data.length
    if (this.#upstream && !writeChunk(this.#upstream.socket, data)) this.#upstreamIsFull()
  }

  #upstreamIsFull(): void {
    this.upstreamFull = true
    this.#client.pause()
  }

  requestDone(): void {
    if (this.#head.chunked) this.#upstream?.socket.write(lastChunk, 'latin1')
    this.#deadlines.requestComplete(this.#nowMs())
  }

  requestBroken(answer: LocalReply): void {
    this.#fail(answer)
  }

  clientStalled(): void {
    this.#fail(answers.slowRequest)
  }

  clientDrained(): void {
    if (this.tunnel) this.tunnel.clientDrained()
    else this.#upstream?.socket.resume()
  }

  /** The client disconnected, so the response is not needed. */
  clientLeft(): void {
    if (this.#phase === 'done') return
    this.#releaseUpstream('broken')
  }

  /** The time of a drain is over. */
  drained(): void {
    if (this.tunnel) this.tunnel.drain()
    else if (this.#phase === 'body') this.#cutOff('drain')
  }

  /** Ends the request if it exceeded a timeout. */
  sweep(nowMs: number): void {
    switch (this.#phase) {
      case 'tunnel':
        this.tunnel?.sweep(nowMs)
        return
      case 'body':
        if (this.#deadlines.totalPassed(nowMs)) this.#cutOff('timeout')
        return
      case 'done':
        return
    }
    if (this.#deadlines.totalPassed(nowMs)) this.#fail(answers.totalTimeout)
    else if (this.#deadlines.startPassed(nowMs)) this.#fail(answers.startTimeout)
    else if (this.#phase === 'connecting' && nowMs - this.#connectingSinceMs > connectMs) {
      this.#upstream?.destroy()
      this.#tryAnother()
    }
  }

  // --- the container's side

  upstreamConnected(): void {
    this.#sendHead()
  }

  upstreamData(piece: Buffer): void {
    if (this.#phase !== 'head' && this.#phase !== 'body') return
    const progress = this.#response.read(piece)
    if (this.#phase === 'head' && this.#response.started) this.#startBody(this.#response.head!)
    if (progress === 'complete') this.#finish()
    else if (progress === 'slow') this.#upstream?.socket.pause()
    else if (progress === 'upgrades') this.#becomeTunnel()
    else if (progress === 'bad') this.#fail(badAnswer(this.#response.problem), 'container')
  }

  upstreamDrained(): void {
    this.upstreamFull = false
    this.#client.resume()
  }

  upstreamEnded(): void {
    if (this.#phase === 'body' && this.#response.endsWithConnection()) {
      this.#releaseUpstream('spent')
      this.#client.requestDone(false)
    } else {
      this.#upstream?.destroy()
      this.upstreamClosed()
    }
  }

  upstreamClosed(): void {
    switch (this.#phase) {
      case 'connecting':
        this.#tryAnother()
        return
      case 'head':
        this.#closedUnanswered()
        return
      case 'body':
        this.#cutOff(this.#leaving ? 'drain' : 'container')
        return
    }
  }

  #closedUnanswered(): void {
    const upstream = this.#upstream
    const container = this.#container
    if (upstream?.reused && container && !this.#response.begun && mayBeSentTwice(this.#head)) {
      // The container closed an idle connection while the request was on its way to it.
      this.#connect(container)
    } else {
      this.#fail(this.#response.begun ? badAnswer('ends before its head does (CRLF CRLF)') : answers.noAnswer)
    }
  }

  #connect(container: Backend): void {
    this.#phase = 'connecting'
    this.#connectingSinceMs = this.#nowMs()
    this.#upstream = container.pool.connect(this)
  }

  /** No byte was sent yet, so another container may serve the request, or this one a little later. */
  #tryAnother(): void {
    const container = this.#container!
    this.#phase = 'waiting'
    this.#container = null
    this.#upstream = null
    this.#environment.retryElsewhere(container, this)
  }

  #sendHead(): void {
    this.#phase = 'head'
    const socket = this.#upstream!.socket
    const text = renderRequest(this.#head, this.#account.forwarding.lines)
    if (this.#client.requestComplete) {
      socket.write(text, 'latin1')
      return
    }
    socket.cork()
    socket.write(text, 'latin1')
    this.#client.pumpBody()
    socket.uncork()
  }

  #startBody(head: ResponseHead): void {
    this.#account.responseBegan(head.status, this.#nowMs(), head.stream)
    this.#phase = 'body'
    if (head.keepAliveMs !== null) this.#upstream!.pool.announced(this.#upstream!, head.keepAliveMs)
  }

  #finish(): void {
    const keep = this.#response.keepsClient
    this.#releaseUpstream(this.#response.keepsUpstream && this.#client.requestComplete ? 'reusable' : 'spent')
    this.#client.requestDone(keep)
  }

  #becomeTunnel(): void {
    const { head, early } = this.#response
    const client = this.#client
    this.#phase = 'tunnel'
    this.#account.upgraded(this.#nowMs())
    client.socket.write(renderUpgrade(head!), 'latin1')
    this.tunnel = new Tunnel(client, this.#upstream!, {
      leaving: () => this.#leaving,
      over: (cut) => {
        this.#account.cut = cut
        this.#releaseUpstream('broken')
        client.requestDone(false)
      },
    })
    this.tunnel.begin(early)
  }

  /** Replies in place of the container. A response that has begun cannot be completed: its connection is destroyed. */
  #fail(answer: LocalReply, cut: CutResponse | null = null): void {
    const hasBegun = this.#phase === 'body'
    this.#account.cut = hasBegun ? cut : null
    this.#account.refusedWith(answer)
    this.#releaseUpstream('broken')
    if (hasBegun) this.#client.break()
    else this.#client.answer(answer, this.#head)
  }

  #cutOff(cut: CutResponse): void {
    this.#account.cutOff(cut, this.#response.head!.bodyLength >= 0)
    this.#releaseUpstream('broken')
    this.#client.break()
  }

  /** The end of the container's connection is expected. */
  get #leaving(): boolean {
    return this.#container?.leaving === true || this.#client.context.draining
  }

  /** Ends the request once: releases its connection, and its slot or its place in the queue. */
  #releaseUpstream(upstreamIs: 'reusable' | 'spent' | 'broken'): void {
    if (this.#phase === 'done') return
    this.#phase = 'done'
    const nowMs = this.#nowMs()
    this.#account.bytesOut = this.#response.bodyBytes
    this.#account.close(nowMs)
    const upstream = this.#upstream
    this.#upstream = null
    if (upstreamIs === 'reusable') upstream?.recycle(nowMs)
    else if (upstreamIs === 'spent') upstream?.destroy()
    else upstream?.abort()
    if (this.#container) this.#environment.release(this.#container)
    else this.#environment.leave(this)
  }

  #nowMs(): number {
    return this.#client.context.clock.monotonicMs()
  }
}
