import type { Socket } from 'node:net'
import { ChunkScanner } from './chunk-scanner.ts'
import type { RequestHead } from './request-head.ts'
import type { ResponseHead } from './response-head.ts'

/** Responses up to this size that arrive in one piece are sent with one write instead of two. */
const wholeBytes = 16 * 1024

/** Relays one response to the client as it arrives, and detects its end. */
export class ResponseRelay {
  readonly #client: Socket
  readonly #head: ResponseHead
  readonly #minor: number
  /** Bytes still to come, if the length is known. */
  #left: number
  #scanner: ChunkScanner | null = null
  /** Only the end of the connection ends the response. */
  readonly endsWithConnection: boolean
  /** The client's connection can carry another request afterwards. */
  readonly keepsClient: boolean
  /** The container's connection can be reused; false if bytes followed the end. */
  keepsUpstream: boolean
  /** Sent so far, with the framing of chunks. */
  bodyBytes = 0
  done = false

  constructor(client: Socket, request: RequestHead, head: ResponseHead, keep: boolean) {
    this.#client = client
    this.#head = head
    this.#minor = request.minor
    const bodiless = request.method === 'HEAD' || head.status === 204 || head.status === 304
    this.#left = bodiless ? 0 : head.bodyLength
    if (head.chunked && !bodiless) this.#scanner = new ChunkScanner()
    this.endsWithConnection = !bodiless && !head.chunked && head.bodyLength < 0
    // HTTP/1.0 has no chunks: there the end of the connection is the end of the body.
    this.keepsClient = keep && !this.endsWithConnection && !(this.#scanner && request.minor === 0)
    this.keepsUpstream = head.keepAlive && !this.endsWithConnection
  }

  /** Sends head and body in one write if the whole response is here; false: use `sendHead` and `send`. */
  sendWhole(data: Buffer, text: string, offset: number): boolean {
    if (this.#left < 0 || this.#scanner || data.length - offset !== this.#left || data.length > wholeBytes) {
      return false
    }
    this.#client.write(this.#renderHead() + text.slice(offset), 'latin1')
    this.bodyBytes = this.#left
    this.done = true
    return true
  }

  sendHead(): void {
    this.#client.write(this.#renderHead(), 'latin1')
  }

  /**
   * Sends the next piece from `offset` on (copied: it is only valid during the call). False if the client is slower:
   * wait for its drain. Throws `BadChunk`.
   */
  send(data: Buffer, offset: number): boolean {
    if (this.#scanner) return this.#sendChunked(this.#scanner, data, offset)
    if (this.endsWithConnection) return this.#sendPart(data, offset, data.length)
    const end = Math.min(data.length, offset + this.#left)
    this.#left -= end - offset
    this.#noteEnd(this.#left === 0, end < data.length)
    return this.#sendPart(data, offset, end)
  }

  /** The container closed its connection, which ends the response. */
  finish(): void {
    this.done = true
  }

  #sendChunked(scanner: ChunkScanner, data: Buffer, offset: number): boolean {
    let room = true
    let end: number
    if (this.#minor === 0) {
      end = scanner.scan(data, offset, (from, to) => {
        room = this.#sendPart(data, from, to)
      })
    } else {
      end = scanner.scan(data, offset)
      room = this.#sendPart(data, offset, end)
    }
    this.#noteEnd(scanner.done, end < data.length)
    return room
  }

  #sendPart(data: Buffer, from: number, to: number): boolean {
    if (from === to) return true
    this.bodyBytes += to - from
    return this.#client.write(Buffer.from(data.subarray(from, to)))
  }

  #noteEnd(done: boolean, more: boolean): void {
    if (!done) return
    this.done = true
    if (more) this.keepsUpstream = false
  }

  #renderHead(): string {
    const head = this.#head
    const chunked =
      head.chunked && this.#minor === 1 && head.status !== 204 ? 'transfer-encoding: chunked\r\n' : ''
    // Drop a length without a body: another proxy might wait for that body.
    const headers = head.status === 204 ? head.headers.replace(/^content-length:.*\r\n/gim, '') : head.headers
    let connection = ''
    if (!this.keepsClient) connection = 'connection: close\r\n'
    else if (this.#minor === 0) connection = 'connection: keep-alive\r\n'
    return `HTTP/1.1 ${head.statusText}\r\n${headers}${chunked}${connection}\r\n`
  }
}
