import { namesDomain } from './host-only-cookies.ts'
import { maxHeadBytes, trimmed } from './request-head.ts'

/** The container's response is not HTTP, or is ambiguous; the message is the predicate of a sentence about it. */
export class BadResponse extends Error {}

/** The head of a container's response. */
export interface ResponseHead {
  status: number
  /** `200 OK`: the part of the status line after the version. */
  statusText: string
  /** The header lines to forward, each ending in CRLF: without hop-by-hop ones; Content-Length stays. */
  headers: string
  /** -1: no Content-Length. */
  bodyLength: number
  chunked: boolean
  /**
   * The container keeps the connection, with the idle timeout in milliseconds if it announces one (otherwise null).
   */
  keepAlive: boolean
  keepAliveMs: number | null
  /** The container accepted a WebSocket. */
  upgrade: boolean
  /** Its content type is one of event streams. */
  stream: boolean
  /** A Set-Cookie names a domain. */
  cookieDomain: boolean
}

const statusLine = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: ([^\r\n]*))?$/
/** Types of responses that last as long as the client listens. */
const streamType =
  /^[ \t]*(?:text\/event-stream|multipart\/x-mixed-replace|application\/(?:x-ndjson|stream\+json|grpc))\b/i
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const longestName = 64
const forbidden = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?:^|[^\r])\n/

/** Parses a response head (latin1, without the final CRLF). Throws `BadResponse`. */
function parseResponseHead(text: string): ResponseHead {
  if (forbidden.test(text)) throw forbiddenCharacter(text)
  let lineEnd = text.indexOf('\r\n')
  if (lineEnd < 0) lineEnd = text.length
  const first = statusLine.exec(text.slice(0, lineEnd))
  if (!first) throw new BadResponse('does not begin with a status line of HTTP/1.1')
  const head: ResponseHead = {
    status: Number(first[2]),
    statusText: `${first[2]} ${first[3] ?? ''}`,
    headers: '',
    bodyLength: -1,
    chunked: false,
    keepAlive: first[1] === '1',
    keepAliveMs: null,
    upgrade: false,
    stream: false,
    cookieDomain: false,
  }
  let named: string[] | null = null
  let start = lineEnd + 2
  while (start < text.length) {
    let end = text.indexOf('\r\n', start)
    if (end < 0) end = text.length
    const colon = text.indexOf(':', start)
    if (colon < 0 || colon > end)
      throw new BadResponse(`has a header line without a colon${after(text, start)}`)
    const name = text.slice(start, colon)
    if (!token.test(name))
      throw new BadResponse(`has a header name with a character that is not allowed${after(text, start)}`)
    const options = readHeader(head, name.toLowerCase(), text, start, colon + 1, end)
    if (options) named = named ? named.concat(options) : options
    start = end + 2
  }
  if (head.chunked && head.bodyLength >= 0)
    throw new BadResponse('has both Content-Length and Transfer-Encoding')
  if (named) head.headers = withoutNamed(head.headers, named)
  return head
}

/** Names the header line that has the character, if its name is legible. */
function forbiddenCharacter(text: string): BadResponse {
  const line = text.split('\r\n').find((one) => forbidden.test(one)) ?? ''
  const name = line.slice(0, line.indexOf(':'))
  const place = token.test(name) ? `its header ${name.slice(0, longestName)}` : 'its head'
  return new BadResponse(`has a control character or a bare line break in ${place}`)
}

/** The place of a header line that has no name of its own. */
function after(text: string, start: number): string {
  const before = text.slice(text.lastIndexOf('\r\n', start - 3) + 2, start)
  const name = before.slice(0, before.indexOf(':'))
  return token.test(name) ? `, after ${name.slice(0, longestName)}` : ''
}

/** Returns further hop-by-hop header names listed in Connection, if any. */
function readHeader(
  head: ResponseHead,
  name: string,
  text: string,
  lineStart: number,
  valueStart: number,
  end: number,
): string[] | null {
  switch (name) {
    case 'connection':
      return readConnection(head, text.slice(valueStart, end).toLowerCase())
    case 'content-length': {
      const value = trimmed(text.slice(valueStart, end))
      if (head.bodyLength >= 0) throw new BadResponse('has several Content-Length headers')
      if (!/^[0-9]{1,15}$/.test(value)) throw new BadResponse('has a Content-Length that is not a number')
      head.bodyLength = Number(value)
      break
    }
    case 'transfer-encoding':
      if (head.chunked) throw new BadResponse('has several Transfer-Encoding headers')
      if (trimmed(text.slice(valueStart, end)).toLowerCase() !== 'chunked') {
        throw new BadResponse('has a Transfer-Encoding other than chunked')
      }
      head.chunked = true
      return null
    case 'keep-alive': {
      const seconds = /timeout=([0-9]{1,6})/.exec(text.slice(valueStart, end))
      if (seconds) head.keepAliveMs = Number(seconds[1]) * 1000
      return null
    }
    case 'upgrade':
      head.upgrade = trimmed(text.slice(valueStart, end)).toLowerCase() === 'websocket'
      return null
    case 'content-type':
      head.stream = streamType.test(text.slice(valueStart, end))
      break
    case 'set-cookie':
      if (namesDomain(text.slice(valueStart, end))) head.cookieDomain = true
      break
    case 'proxy-connection':
    case 'te':
    case 'trailer':
      return null
  }
  head.headers += `${text.slice(lineStart, end)}\r\n`
  return null
}

function readConnection(head: ResponseHead, value: string): string[] | null {
  // The two usual values, without the cost of splitting.
  if (value === ' keep-alive') {
    head.keepAlive = true
    return null
  }
  const options = value.split(',').map(trimmed)
  if (options.includes('close')) head.keepAlive = false
  else if (options.includes('keep-alive')) head.keepAlive = true
  const named = options.filter((name) => !['', 'close', 'keep-alive', 'upgrade'].includes(name))
  return named.length > 0 ? named : null
}

function withoutNamed(headers: string, named: readonly string[]): string {
  return headers
    .split('\r\n')
    .filter((line) => line !== '')
    .filter((line) => {
      const name = line.slice(0, line.indexOf(':')).toLowerCase()
      return name === 'content-length' || !named.includes(name)
    })
    .map((line) => `${line}\r\n`)
    .join('')
}

/** The head of a response that agrees to a WebSocket, as the client gets it. */
export function renderUpgrade(head: ResponseHead): string {
  return `HTTP/1.1 ${head.statusText}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n${head.headers}\r\n`
}

/** A complete head and where the body begins in `data`; `text` is the beginning of `data` as latin1. */
export interface ArrivedHead {
  head: ResponseHead
  data: Buffer
  text: string
  offset: number
}

/** A limit, because each one is sent to the client whether it reads or not. */
const mostInterim = 20

/** Collects the head of one response from pieces. */
export class ResponseHeadReader {
  #partial: Buffer | null = null
  #interim = 0

  /** Part of a head has arrived. */
  get begun(): boolean {
    return this.#partial !== null
  }

  /**
   * The final head (101 is one), or null while it is incomplete. Interim heads (1xx) go to `onInterim`. Throws
   * `BadResponse`.
   */
  read(piece: Buffer, onInterim: (head: ResponseHead) => void): ArrivedHead | null {
    let data = this.#partial ? Buffer.concat([this.#partial, piece]) : piece
    this.#partial = null
    while (data.length > 0) {
      const text = data.toString('latin1', 0, Math.min(data.length, maxHeadBytes))
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) {
        if (text.length >= maxHeadBytes)
          throw new BadResponse(`has a head of more than ${maxHeadBytes / 1024} KiB`)
        // Copied: pieces are only valid during the call.
        this.#partial = Buffer.from(data)
        return null
      }
      const head = parseResponseHead(text.slice(0, end))
      if (head.status >= 200 || head.status === 101) return { head, data, text, offset: end + 4 }
      this.#interim += 1
      if (this.#interim > mostInterim)
        throw new BadResponse(`follows more than ${mostInterim} interim responses (1xx)`)
      if (head.chunked || head.bodyLength >= 0)
        throw new BadResponse('follows an interim response (1xx) with a body')
      onInterim(head)
      data = data.subarray(end + 4)
    }
    return null
  }
}
