import type { ClientConnection } from './client-connection.ts'
import { answers, answerTo, type OwnAnswer } from './own-answer.ts'
import type { RequestHead } from './request-head.ts'
import { type ArrivedHead, BadResponse, type ResponseHead, ResponseHeadReader } from './response-head.ts'
import { ResponseRelay } from './response-relay.ts'
import type { ServedContainer } from './served-container.ts'
import type { ServedEnvironment } from './served-environment.ts'
import { Tunnel } from './tunnel.ts'
import type { UpstreamConnection, UpstreamUser } from './upstream-connection.ts'
import { mayBeSentTwice, renderRequest } from './upstream-request.ts'
import type { Refusal, Waiter } from './waiting-line.ts'

/** A connect that hangs this long is given up: nothing was sent, another container may answer. */
const connectMs = 3_000
/** Apps have no total limit; their first byte is waited for this long once the request is complete. */
const appStartMs = 120_000
/** A request that must not be sent twice only takes a connection that was used this recently. */
const freshMs = 1_000

/** `waiting` for a slot, `connecting`, `head`: sent, no answer yet, `body`: the answer is relayed. */
type Phase = 'waiting' | 'connecting' | 'head' | 'body' | 'tunnel' | 'done'

/** One request from its head to the last byte of its answer: holds a slot of one container meanwhile. */
export class Exchange implements Waiter, UpstreamUser {
  readonly #client: ClientConnection
  readonly #head: RequestHead
  readonly #environment: ServedEnvironment
  readonly #arrivedMs: number
  #phase: Phase = 'waiting'
  #container: ServedContainer | null = null
  #upstream: UpstreamConnection | null = null
  #connectingSinceMs = 0
  #startDeadlineMs: number
  #totalDeadlineMs: number
  readonly #reader = new ResponseHeadReader()
  #status = 0
  #relay: ResponseRelay | null = null
  /** Once the container agreed to a WebSocket. */
  tunnel: Tunnel | null = null
  /** The container reads slower than the client writes. */
  upstreamFull = false

  constructor(client: ClientConnection, head: RequestHead, environment: ServedEnvironment, nowMs: number) {
    this.#client = client
    this.#head = head
    this.#environment = environment
    this.#arrivedMs = nowMs
    if (environment.kind === 'function') {
      this.#startDeadlineMs = nowMs + environment.scaling.responseStartTimeoutSeconds * 1000
      this.#totalDeadlineMs = nowMs + environment.scaling.timeoutSeconds * 1000
    } else {
      this.#startDeadlineMs = client.requestComplete ? nowMs + appStartMs : Number.POSITIVE_INFINITY
      this.#totalDeadlineMs = Number.POSITIVE_INFINITY
    }
  }

  // --- the slot

  assigned(container: ServedContainer): void {
    this.#container = container
    const maxIdleMs = mayBeSentTwice(this.#head) ? Number.POSITIVE_INFINITY : freshMs
    this.#upstream = container.pool.takeIdle(this, this.#nowMs(), maxIdleMs)
    if (this.#upstream) this.#sendHead()
    else this.#connect(container)
  }

  refused(refusal: Refusal): void {
    this.#answer(answerTo(refusal))
  }

  // --- the client's side

  get takesBody(): boolean {
    return this.#phase === 'head' || this.#phase === 'body'
  }

  /** The container could take more of the body, the client does not send it. */
  get waitsForBody(): boolean {
    return this.takesBody && !this.upstreamFull
  }

  requestPiece(piece: Buffer): void {
    if (this.#upstream?.socket.write(piece) === false) this.#holdClient()
  }

  requestChunk(data: Buffer): void {
    const socket = this.#upstream?.socket
    if (!socket) return
    socket.cork()
    socket.write(`${data.length.toString(16)}\r\n`, 'latin1')
    socket.write(data)
    const room = socket.write('\r\n', 'latin1')
    socket.uncork()
    if (!room) this.#holdClient()
  }

  requestDone(): void {
    if (this.#head.chunked) this.#upstream?.socket.write('0\r\n\r\n', 'latin1')
    if (this.#environment.kind === 'app') this.#startDeadlineMs = this.#nowMs() + appStartMs
  }

  requestBroken(answer: OwnAnswer): void {
    this.#fail(answer)
  }

  clientStalled(): void {
    this.#fail(answers.slowRequest)
  }

  clientDrained(): void {
    if (this.tunnel) this.tunnel.clientDrained()
    else this.#upstream?.socket.resume()
  }

  /** The client is gone: nobody wants the answer. */
  clientLeft(): void {
    if (this.#phase === 'done') return
    this.#settle('broken')
  }

  /** Ends what takes too long. */
  sweep(nowMs: number): void {
    switch (this.#phase) {
      case 'tunnel':
        this.tunnel?.sweep(nowMs)
        return
      case 'body':
        if (nowMs >= this.#totalDeadlineMs) this.#break()
        return
      case 'done':
        return
    }
    if (nowMs >= this.#totalDeadlineMs) this.#fail(answers.totalTimeout)
    else if (nowMs >= this.#startDeadlineMs) this.#fail(answers.startTimeout)
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
    if (this.#phase === 'head') this.#readHead(piece)
    else if (this.#phase === 'body') this.#relayBody(piece, 0)
  }

  upstreamDrained(): void {
    this.upstreamFull = false
    this.#client.resume()
  }

  upstreamEnded(): void {
    if (this.#phase === 'body' && this.#relay?.endsWithConnection) {
      this.#relay.finish()
      this.#settle('spent')
      this.#client.exchangeDone(false)
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
        this.#break()
        return
    }
  }

  #closedUnanswered(): void {
    const upstream = this.#upstream
    const container = this.#container
    if (upstream?.reused && container && !this.#reader.begun && mayBeSentTwice(this.#head)) {
      // The container closed an idle connection while the request was on its way to it.
      this.#connect(container)
    } else {
      this.#fail(answers.noAnswer)
    }
  }

  #connect(container: ServedContainer): void {
    this.#phase = 'connecting'
    this.#connectingSinceMs = this.#nowMs()
    this.#upstream = container.pool.connect(this)
  }

  /** Nothing was sent: another container may answer, or this one a moment later. */
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
    const text = renderRequest(this.#head, this.#client.remoteAddress)
    if (this.#client.requestComplete) {
      socket.write(text, 'latin1')
      return
    }
    socket.cork()
    socket.write(text, 'latin1')
    this.#client.pumpBody()
    socket.uncork()
  }

  #readHead(piece: Buffer): void {
    let arrived: ArrivedHead | null
    try {
      arrived = this.#reader.read(piece, (head) => this.#passInterim(head))
    } catch (error) {
      if (!(error instanceof BadResponse)) throw error
      this.#fail(answers.badAnswer)
      return
    }
    if (arrived?.head.status === 101) this.#becomeTunnel(arrived.head, arrived.data.subarray(arrived.offset))
    else if (arrived) this.#startRelay(arrived)
  }

  #passInterim(head: ResponseHead): void {
    if (this.#head.minor === 0) return
    this.#client.socket.write(`HTTP/1.1 ${head.statusText}\r\n${head.headers}\r\n`, 'latin1')
  }

  #startRelay({ head, data, text, offset }: ArrivedHead): void {
    this.#status = head.status
    this.#phase = 'body'
    // What will be closed is announced, or the client sends its next request into the close.
    const keep = this.#head.keepAlive && !this.#client.context.draining && this.#client.keepable
    this.#relay = new ResponseRelay(this.#client.socket, this.#head, head, keep)
    if (head.keepAliveMs !== null) this.#upstream!.pool.announced(this.#upstream!, head.keepAliveMs)
    if (this.#relay.sendWhole(data, text, offset)) {
      this.#finish()
      return
    }
    this.#relay.sendHead()
    this.#relayBody(data, offset)
  }

  #relayBody(data: Buffer, offset: number): void {
    const relay = this.#relay!
    let room: boolean
    try {
      room = relay.send(data, offset)
    } catch {
      this.#break()
      return
    }
    if (relay.done) this.#finish()
    else if (!room) this.#upstream?.socket.pause()
  }

  #finish(): void {
    const keep = this.#relay!.keepsClient
    this.#settle(this.#relay!.keepsUpstream && this.#client.requestComplete ? 'reusable' : 'spent')
    this.#client.exchangeDone(keep)
  }

  #becomeTunnel(head: ResponseHead, early: Buffer): void {
    if (!this.#head.upgrade || !head.upgrade) {
      this.#fail(answers.badAnswer)
      return
    }
    this.#phase = 'tunnel'
    this.#status = 101
    this.#environment.answered(101, this.#nowMs() - this.#arrivedMs)
    const client = this.#client
    client.socket.write(
      `HTTP/1.1 ${head.statusText}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n${head.headers}\r\n`,
      'latin1',
    )
    this.tunnel = new Tunnel(client.socket, this.#upstream!, client.context.clock, () => {
      this.#settle('broken')
      client.socket.destroySoon()
    })
    if (early.length > 0) this.tunnel.upstreamData(early)
    const waiting = client.becomeTunnel()
    if (waiting) this.tunnel.clientData(waiting)
  }

  #holdClient(): void {
    this.upstreamFull = true
    this.#client.pause()
  }

  /** Answers instead of the container. */
  #fail(answer: OwnAnswer): void {
    if (this.#phase === 'body') {
      this.#break()
      return
    }
    this.#answer(answer)
  }

  #answer(answer: OwnAnswer): void {
    this.#status = answer.status
    this.#settle('broken')
    this.#client.answer(answer, this.#head)
  }

  /** The answer has begun and cannot be completed: a broken connection is the honest end. */
  #break(): void {
    this.#settle('broken')
    this.#client.break()
  }

  /** Gives everything back, once: connection, slot or place in the queue. */
  #settle(upstreamIs: 'reusable' | 'spent' | 'broken'): void {
    if (this.#phase === 'done') return
    const tunnel = this.#phase === 'tunnel'
    this.#phase = 'done'
    const nowMs = this.#nowMs()
    if (!tunnel) this.#environment.answered(this.#status, nowMs - this.#arrivedMs)
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
