import type { RequestScheduler } from '../routing/request-scheduler.ts'
import { bareHost } from '../routing/route-table.ts'
import { BadChunk } from './chunk-scanner.ts'
import { sendsHsts } from './domain-replies.ts'
import { hostOnlyCookies } from './host-only-cookies.ts'
import type { RequestClient } from './request-client.ts'
import type { RequestHead } from './request-head.ts'
import { type ArrivedHead, BadResponse, type ResponseHead, ResponseHeadReader } from './response-head.ts'
import { ResponseRelay } from './response-relay.ts'

/** After a piece: `more` is to come, the client is `slow`, or the response is `complete`, `upgrades` or is not HTTP. */
type ResponseProgress = 'more' | 'slow' | 'complete' | 'upgrades' | 'bad'

/** The container's response to one request: read as it comes, and passed on to the client. */
export class UpstreamResponse {
  readonly #client: RequestClient
  readonly #request: RequestHead
  readonly #environment: RequestScheduler
  readonly #reader = new ResponseHeadReader()
  #relay: ResponseRelay | null = null
  #head: ResponseHead | null = null
  /** What is wrong with a `bad` response. */
  problem = ''
  /** Bytes after the head of a response that upgrades the connection. */
  early: Buffer | null = null

  constructor(client: RequestClient, request: RequestHead, environment: RequestScheduler) {
    this.#client = client
    this.#request = request
    this.#environment = environment
  }

  /** A part of the response has arrived. */
  get begun(): boolean {
    return this.#head !== null || this.#reader.begun
  }

  /** The final head; null before it is complete. */
  get head(): ResponseHead | null {
    return this.#head
  }

  /** The client has received part of it. */
  get started(): boolean {
    return this.#relay !== null
  }

  /** Takes the next piece, which is only valid during the call. */
  read(piece: Buffer): ResponseProgress {
    try {
      return this.#read(piece)
    } catch (error) {
      if (!(error instanceof BadResponse || error instanceof BadChunk)) throw error
      this.problem =
        error instanceof BadChunk ? `has a malformed chunked body (${error.message})` : error.message
      return 'bad'
    }
  }

  #read(piece: Buffer): ResponseProgress {
    if (this.#relay) return this.#send(this.#relay, piece, 0)
    const arrived = this.#reader.read(piece, (head) => this.#passInterim(head))
    if (!arrived) return 'more'
    this.#head = arrived.head
    this.#limitCookies(arrived.head)
    if (arrived.head.status !== 101) return this.#start(arrived)
    if (!this.#request.upgrade || !arrived.head.upgrade) {
      throw new BadResponse('switches to a protocol that the request does not ask for (101)')
    }
    this.early = arrived.data.subarray(arrived.offset)
    return 'upgrades'
  }

  /** The container ended its connection; true: that completes the response. */
  endsWithConnection(): boolean {
    if (!this.#relay?.endsWithConnection) return false
    this.#relay.finish()
    return true
  }

  /** The client's connection can carry another request after this response. */
  get keepsClient(): boolean {
    return this.#relay?.keepsClient === true
  }

  get keepsUpstream(): boolean {
    return this.#relay?.keepsUpstream === true
  }

  /** Bytes of the body that were sent to the client, with the framing of chunks. */
  get bodyBytes(): number {
    return this.#relay?.bodyBytes ?? 0
  }

  #passInterim(head: ResponseHead): void {
    if (this.#request.minor === 0) return
    this.#limitCookies(head)
    this.#client.socket.write(`HTTP/1.1 ${head.statusText}\r\n${head.headers}\r\n`, 'latin1')
  }

  /** Under the host below a domain with other environments, cookies are for that host alone. */
  #limitCookies(head: ResponseHead): void {
    const host = bareHost(this.#request.host)
    if (head.cookieDomain && host === this.#environment.hosts[0])
      head.headers = hostOnlyCookies(head.headers, host)
  }

  #start({ head, data, text, offset }: ArrivedHead): ResponseProgress {
    // Announce a close in the head: otherwise the client sends its next request into the closing connection.
    const keep = this.#request.keepAlive && !this.#client.context.draining && this.#client.keepable
    if (sendsHsts(this.#client, this.#environment, this.#request)) head.headers = withHsts(head.headers)
    const relay = new ResponseRelay(this.#client.socket, this.#request, head, keep)
    this.#relay = relay
    if (relay.sendWhole(data, text, offset)) return 'complete'
    relay.sendHead()
    return this.#send(relay, data, offset)
  }

  #send(relay: ResponseRelay, data: Buffer, offset: number): ResponseProgress {
    const room = relay.send(data, offset)
    if (relay.done) return 'complete'
    return room ? 'more' : 'slow'
  }
}

function withHsts(headers: string): string {
  const own = /^strict-transport-security:/im.test(headers)
  return own ? headers : `${headers}strict-transport-security: max-age=31536000\r\n`
}
