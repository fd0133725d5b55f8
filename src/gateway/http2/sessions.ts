import {
  constants,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../clock.ts'
import { maxHeadBytes } from '../http/request-head.ts'
import { requestText } from './request-text.ts'
import { StreamSocket } from './stream-socket.ts'

const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_PROTOCOL_ERROR } = constants
const mostStreams = 128
const idleMs = 75_000
/** Streams that a client may cancel at once, and each second after that: more is a rapid reset (CVE-2023-44487). */
const resetBurst = 200
const resetsPerSecond = 20

const options = {
  maxSessionMemory: 4,
  maxHeaderListPairs: 128,
  maxSendHeaderBlockLength: 2 * maxHeadBytes,
  maxOutstandingSettings: 10,
  maxSettings: 32,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  settings: {
    headerTableSize: 4_096,
    enablePush: false,
    initialWindowSize: 262_144,
    maxConcurrentStreams: mostStreams,
    maxHeaderListSize: maxHeadBytes,
  },
}

/** The clients that speak HTTP/2. Each of their streams is served as the connection of an HTTP/1.1 client. */
export class Http2Sessions {
  readonly #clock: Clock
  readonly #serve: (stream: Socket, session: TLSSocket) => void
  readonly #open = new Set<ServerHttp2Session>()

  constructor(clock: Clock, serve: (stream: Socket, session: TLSSocket) => void) {
    this.#clock = clock
    this.#serve = serve
  }

  accept(socket: TLSSocket): void {
    const session = performServerHandshake(socket, options)
    const resets = new ResetBudget(this.#clock)
    this.#open.add(session)
    session.on('stream', (stream, headers, flags) => {
      const request = requestText(headers, (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0)
      if (!request) return refuse(stream)
      const { head, ...framing } = request
      const served = new StreamSocket(stream, head, framing)
      this.#serve(served as unknown as Socket, socket)
      stream.on('close', () => {
        if (session.destroyed || !served.isAbandoned || resets.take()) return
        session.goaway(NGHTTP2_ENHANCE_YOUR_CALM)
        session.destroy()
      })
    })
    session.on('error', () => {})
    session.on('close', () => this.#open.delete(session))
    session.setTimeout(idleMs, () => session.close())
  }

  /** Finishes the open streams and takes no more. */
  drain(): void {
    for (const session of this.#open) session.close()
  }
}

function refuse(stream: ServerHttp2Stream): void {
  stream.on('error', () => {})
  stream.close(NGHTTP2_PROTOCOL_ERROR)
}

/** A bucket of tokens. */
class ResetBudget {
  readonly #clock: Clock
  #left = resetBurst
  #atMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#atMs = clock.monotonicMs()
  }

  /** False: it is spent. */
  take(): boolean {
    const nowMs = this.#clock.monotonicMs()
    this.#left = Math.min(resetBurst, this.#left + ((nowMs - this.#atMs) / 1_000) * resetsPerSecond) - 1
    this.#atMs = nowMs
    return this.#left >= 0
  }
}
