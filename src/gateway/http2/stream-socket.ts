import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { Duplex } from 'node:stream'
import { ChunkScanner } from '../http/chunk-scanner.ts'
import { type ArrivedHead, type ResponseHead, ResponseHeadReader } from '../http/response-head.ts'

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants
const lastChunk = Buffer.from('0\r\n\r\n')
const end = Buffer.from('\r\n')

/**
 * One stream of HTTP/2 as the connection of an HTTP/1.1 client with a single request, so that every check, limit and
 * timeout of the gateway is the same for both.
 */
export class StreamSocket extends Duplex {
  /** As a connection with TLS: it cannot be handed to another process. */
  readonly encrypted = true
  readonly #stream: ServerHttp2Stream
  readonly #isHead: boolean
  readonly #reader = new ResponseHeadReader()
  #scanner: ChunkScanner | null = null
  /** Bytes of the response that are still to come; -1: unknown. */
  #left = -1
  #begun = false
  #complete = false
  #isReset = false

  /** `head`: the request up to its body, in HTTP/1.1. */
  constructor(
    stream: ServerHttp2Stream,
    head: string,
    { isHead, chunked }: { isHead: boolean; chunked: boolean },
  ) {
    super({ allowHalfOpen: true })
    this.#stream = stream
    this.#isHead = isHead
    this.push(Buffer.from(head, 'latin1'))
    stream.on('data', (piece: Buffer) => {
      const room = chunked ? this.#pushChunk(piece) : this.push(piece)
      if (!room) stream.pause()
    })
    // The framing ends a request: the end of a connection would mean that the client has left.
    if (chunked) stream.on('end', () => this.push(lastChunk))
    stream.on('error', () => {})
    stream.on('close', () => this.destroy())
  }

  /** The client has ended the stream, whatever its error code, before it had its response. */
  get isAbandoned(): boolean {
    return this.#stream.closed && !this.#complete && !this.#isReset
  }

  override _read(): void {
    this.#stream.resume()
  }

  override _write(piece: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const isOver = this.#stream.destroyed || this.#stream.closed
    try {
      if (isOver || this.#take(piece)) done()
      else this.#stream.once('drain', done)
    } catch {
      // What the gateway writes is a response; anything else is a bug, and ends this stream alone.
      this.#reset(NGHTTP2_INTERNAL_ERROR)
      done()
    }
  }

  override _final(done: () => void): void {
    const isWhole = this.#begun && (this.#complete || (this.#left < 0 && !this.#scanner))
    if (!isWhole) this.#reset(NGHTTP2_INTERNAL_ERROR)
    else if (!this.#stream.writableEnded) this.#stream.end()
    this.#complete = isWhole
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // A request whose rest is not wanted ends without an error (RFC 9113, 8.1).
    if (!this.#stream.closed) this.#reset(this.#complete ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL)
    done(error)
  }

  destroySoon(): void {
    if (this.writableFinished) this.destroy()
    else this.end(() => this.destroy())
  }

  #pushChunk(piece: Buffer): boolean {
    if (piece.length === 0) return true
    return this.push(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`, 'latin1'), piece, end]))
  }

  /** False: the client reads slower. */
  #take(piece: Buffer): boolean {
    if (this.#begun) return this.#body(piece, 0)
    const arrived = this.#reader.read(piece, (head) => this.#interim(head))
    return arrived ? this.#begin(arrived) : true
  }

  #begin({ head, data, offset }: ArrivedHead): boolean {
    this.#begun = true
    const isBodiless = this.#isHead || head.status === 204 || head.status === 304 || head.bodyLength === 0
    if (head.chunked) this.#scanner = new ChunkScanner()
    this.#left = head.bodyLength
    this.#complete = isBodiless
    this.#stream.respond(headersOf(head), { endStream: isBodiless })
    return isBodiless || this.#body(data, offset)
  }

  #body(data: Buffer, offset: number): boolean {
    if (this.#complete) return true
    if (this.#scanner) {
      const pieces: Buffer[] = []
      this.#scanner.scan(data, offset, (from, to) => pieces.push(data.subarray(from, to)))
      return this.#send(Buffer.concat(pieces), this.#scanner.done)
    }
    const piece = data.subarray(offset)
    if (this.#left >= 0) this.#left -= piece.length
    return this.#send(Buffer.from(piece), this.#left === 0)
  }

  #send(piece: Buffer, isLast: boolean): boolean {
    this.#complete = isLast
    if (isLast) {
      this.#stream.end(piece)
      return true
    }
    return piece.length === 0 || this.#stream.write(piece)
  }

  #interim(head: ResponseHead): void {
    if (!this.#stream.headersSent) this.#stream.additionalHeaders(headersOf(head))
  }

  #reset(code: number): void {
    if (this.#stream.destroyed) return
    this.#isReset = true
    this.#stream.close(code)
  }
}

/** Repeated headers stay apart. */
function headersOf({ status, headers }: ResponseHead): OutgoingHttpHeaders {
  const all: Record<string, number | string | string[]> = Object.create(null)
  all[':status'] = status
  for (const line of headers.split('\r\n')) {
    if (line === '') continue
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    const before = all[name]
    all[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [String(before)]), value]
  }
  return all
}
