import type { ClientConnection } from './client-connection.ts'
import { answers, answerTo, type OwnAnswer } from './own-answer.ts'
import { maxHeadBytes, type RequestHead } from './request-head.ts'
import { BadResponse, parseResponseHead, type ResponseHead } from './response-head.ts'
import { ResponseRelay } from './response-relay.ts'
import type { ServedContainer } from './served-container.ts'
import type { Refusal, ServedEnvironment, Waiter } from './served-environment.ts'
import type { UpstreamConnection, UpstreamUser } from './upstream-connection.ts'

/** A connect that hangs this long is given up: nothing was sent, another container may answer. */
const connectMs = 3_000
/** Apps have no total limit; their first byte is waited for this long once the request is complete. */
const appStartMs = 120_000
/** One side of a tunnel has ended: the other gets so long to end too. */
const halfClosedMs = 1_000
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
  #partial: Buffer | null = null
  #status = 0
  #relay: ResponseRelay | null = null
  #halfClosedMs = Number.POSITIVE_INFINITY
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
    const maxIdleMs = this.#mayBeSentTwice() ? Number.POSITIVE_INFINITY : freshMs
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
    this.#upstream?.socket.resume()
  }

  /** The client is gone: nobody wants the answer. */
  clientLeft(): void {
    if (this.#phase === 'done') return
    this.#settle('broken')
  }

  tunnelData(piece: Buffer): void {
    if (this.#upstream?.socket.write(piece) === false) this.#holdClient()
  }

  tunnelEnded(): void {
    this.#halfClosedMs = this.#nowMs()
    this.#upstream?.socket.end()
  }

  /** Ends what takes too long. */
  sweep(nowMs: number): void {
    switch (this.#phase) {
      case 'tunnel':
        if (nowMs - this.#halfClosedMs > halfClosedMs) this.#break()
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
    else if (this.#phase === 'tunnel' && !this.#client.socket.write(Buffer.from(piece)))
      this.#upstream?.socket.pause()
  }

  upstreamDrained(): void {
    this.upstreamFull = false
    this.#client.resume()
  }

  upstreamEnded(): void {
    if (this.#phase === 'tunnel') {
      this.#halfClosedMs = this.#nowMs()
      this.#client.socket.end()
    } else if (this.#phase === 'body' && this.#relay?.endsWithConnection) {
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
      case 'tunnel':
        this.#settle('broken')
        this.#client.socket.destroySoon()
        return
    }
  }

  #closedUnanswered(): void {
    const upstream = this.#upstream
    const container = this.#container
    if (upstream?.reused && container && this.#partial === null && this.#mayBeSentTwice()) {
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

  #mayBeSentTwice(): boolean {
    const { method, chunked, bodyLength, upgrade } = this.#head
    return !chunked && bodyLength === 0 && !upgrade && idempotent.has(method)
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
    let data = this.#partial ? Buffer.concat([this.#partial, piece]) : piece
    for (;;) {
      const text = data.toString('latin1', 0, Math.min(data.length, maxHeadBytes))
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) {
        if (text.length >= maxHeadBytes) {
          this.#fail(answers.badAnswer)
          return
        }
        this.#partial = Buffer.from(data)
        return
      }
      let head: ResponseHead
      try {
        head = parseResponseHead(text.slice(0, end))
      } catch (error) {
        if (!(error instanceof BadResponse)) throw error
        this.#fail(answers.badAnswer)
        return
      }
      this.#partial = null
      if (head.status === 101) {
        this.#becomeTunnel(head, data.subarray(end + 4))
        return
      }
      if (head.status >= 200) {
        this.#startRelay(head, data, text, end + 4)
        return
      }
      if (this.#head.minor === 1) {
        this.#client.socket.write(`HTTP/1.1 ${head.statusText}\r\n${head.headers}\r\n`, 'latin1')
      }
      if (data.length === end + 4) return
      data = data.subarray(end + 4)
    }
  }

  #startRelay(head: ResponseHead, data: Buffer, text: string, offset: number): void {
    this.#status = head.status
    this.#phase = 'body'
    const keep = this.#head.keepAlive && !this.#client.context.draining
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
    const upstream = this.#upstream!.socket
    // A peer that vanished without a word must not hold a slot for ever.
    client.socket.setKeepAlive(true, 30_000)
    upstream.setKeepAlive(true, 30_000)
    client.socket.write(
      `HTTP/1.1 ${head.statusText}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n${head.headers}\r\n`,
      'latin1',
    )
    if (early.length > 0) client.socket.write(Buffer.from(early))
    const waiting = client.becomeTunnel()
    if (waiting) upstream.write(waiting)
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

const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** The request as the container gets it: framing and hop-by-hop headers are written anew. */
function renderRequest(head: RequestHead, remoteAddress: string): string {
  let framing = ''
  if (head.chunked) framing = 'transfer-encoding: chunked\r\n'
  else if (
    head.bodyLength > 0 ||
    head.method === 'POST' ||
    head.method === 'PUT' ||
    head.method === 'PATCH'
  ) {
    framing = `content-length: ${head.bodyLength}\r\n`
  }
  if (head.upgrade) framing += 'connection: Upgrade\r\nupgrade: websocket\r\n'
  const { block } = head
  const before = block.forwardedFor && `${block.forwardedFor}, `
  return (
    `${head.method} ${head.target} HTTP/1.1\r\nhost: ${head.host}\r\n${block.headers}${framing}` +
    `x-forwarded-for: ${before}${remoteAddress}\r\nx-forwarded-host: ${head.host}\r\nx-forwarded-proto: http\r\n\r\n`
  )
}
