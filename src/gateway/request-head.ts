/** A request that must not be served, with the answer to give. */
export class RequestRefused extends Error {
  readonly status: number
  readonly details: string

  constructor(status: number, message: string, details: string) {
    super(message)
    this.status = status
    this.details = details
  }
}

/** Longest request line and headers together, in bytes. */
export const maxHeadBytes = 32 * 1024

/** The head of one request, checked. */
export interface RequestHead {
  method: string
  /** Origin form (`/path?query`) or `*`. */
  target: string
  /** 1 for HTTP/1.1, 0 for HTTP/1.0. */
  minor: number
  /** Host as sent, in lower case, with its port if it had one. */
  host: string
  /** Bytes of body to come; 0 for none. Meaningless when `chunked`. */
  bodyLength: number
  chunked: boolean
  /** The client wants the connection kept. */
  keepAlive: boolean
  /** The request asks to become a WebSocket. */
  upgrade: boolean
  /** The header lines that go on, each ending in CRLF: without hop-by-hop, framing and X-Forwarded ones. */
  headers: string
  /** X-Forwarded-For as sent; empty when absent. */
  forwardedFor: string
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const hostValue = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/
/** A control character, or a CR or LF that is not part of a CRLF. */
const forbidden = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?:^|[^\r])\n/

function bad(details: string): RequestRefused {
  return new RequestRefused(400, 'Bad request', details)
}

/**
 * Reads a request head. Strict on purpose: what two parsers could read in two ways (two lengths, two hosts, folded
 * lines, stray control characters) is refused, and what goes on to a container is written anew.
 * `text` is latin1, from the request line to the last header line without its CRLF. Throws `RequestRefused`.
 */
export function parseRequestHead(text: string): RequestHead {
  if (forbidden.test(text)) throw bad('The request head contains a control character or a bare line break.')
  let lineEnd = text.indexOf('\r\n')
  if (lineEnd < 0) lineEnd = text.length
  const head = parseRequestLine(text.slice(0, lineEnd))
  const seen = new HeaderReader(head)
  let start = lineEnd + 2
  while (start < text.length) {
    let end = text.indexOf('\r\n', start)
    if (end < 0) end = text.length
    const colon = text.indexOf(':', start)
    if (colon < 0 || colon > end) throw bad('A header line has no colon.')
    const name = text.slice(start, colon)
    if (!token.test(name))
      throw bad('A header name has a character that is not allowed, or a line is folded.')
    seen.read(name.toLowerCase(), text, start, colon + 1, end)
    start = end + 2
  }
  seen.finish()
  return head
}

function parseRequestLine(line: string): RequestHead {
  const first = line.indexOf(' ')
  const last = line.lastIndexOf(' ')
  const method = line.slice(0, first)
  const target = line.slice(first + 1, last)
  if (first <= 0 || last <= first || target.includes(' ') || target.includes('\t') || !token.test(method)) {
    throw bad('The request line must be a method, a target and a version.')
  }
  const version = line.slice(last + 1)
  if (version !== 'HTTP/1.1' && version !== 'HTTP/1.0') {
    if (!/^HTTP\/[0-9](?:\.[0-9])?$/.test(version)) throw bad('The request line has no HTTP version.')
    throw new RequestRefused(505, 'HTTP version not supported', 'Use HTTP/1.1.')
  }
  if (method === 'CONNECT' || method === 'TRACE') {
    throw new RequestRefused(405, 'Method not allowed', `${method} is not served here.`)
  }
  const minor = version === 'HTTP/1.1' ? 1 : 0
  return {
    method,
    target,
    minor,
    host: '',
    bodyLength: 0,
    chunked: false,
    keepAlive: minor === 1,
    upgrade: false,
    headers: '',
    forwardedFor: '',
  }
}

/** Collects what the headers say into a head; one per request. */
class HeaderReader {
  readonly #head: RequestHead
  #connection = ''
  #upgrade = ''
  #length: string | null = null
  #encoding: string | null = null

  constructor(head: RequestHead) {
    this.#head = head
  }

  read(name: string, text: string, lineStart: number, valueStart: number, end: number): void {
    const head = this.#head
    switch (name) {
      case 'host':
        if (head.host !== '') throw bad('There is more than one Host header.')
        head.host = hostOf(trimmed(text.slice(valueStart, end)))
        return
      case 'connection':
        this.#connection += `,${text.slice(valueStart, end).toLowerCase()}`
        return
      case 'content-length':
        if (this.#length !== null) throw bad('There is more than one Content-Length header.')
        this.#length = trimmed(text.slice(valueStart, end))
        return
      case 'transfer-encoding':
        if (this.#encoding !== null) throw bad('There is more than one Transfer-Encoding header.')
        this.#encoding = trimmed(text.slice(valueStart, end)).toLowerCase()
        return
      case 'upgrade':
        this.#upgrade = trimmed(text.slice(valueStart, end)).toLowerCase()
        return
      case 'x-forwarded-for':
        head.forwardedFor += `${head.forwardedFor && ', '}${trimmed(text.slice(valueStart, end))}`
        return
      case 'expect':
        if (trimmed(text.slice(valueStart, end)).toLowerCase() !== '100-continue') {
          throw new RequestRefused(417, 'Expectation failed', 'Only Expect: 100-continue is known.')
        }
        break
      case 'keep-alive':
      case 'proxy-connection':
      case 'proxy-authorization':
      case 'proxy-authenticate':
      case 'te':
      case 'trailer':
      case 'http2-settings':
      case 'x-forwarded-host':
      case 'x-forwarded-proto':
        return
    }
    head.headers += `${text.slice(lineStart, end)}\r\n`
  }

  finish(): void {
    const head = this.#head
    readTarget(head)
    this.#readFraming()
    if (this.#connection === '') return
    const options = this.#connection.split(',').map(trimmed).filter(Boolean)
    if (options.includes('close')) head.keepAlive = false
    else if (options.includes('keep-alive')) head.keepAlive = true
    head.upgrade =
      options.includes('upgrade') &&
      this.#upgrade === 'websocket' &&
      head.method === 'GET' &&
      head.minor === 1 &&
      head.bodyLength === 0 &&
      !head.chunked
    head.headers = withoutNamed(head.headers, options)
  }

  #readFraming(): void {
    const head = this.#head
    if (this.#encoding !== null) {
      if (this.#length !== null) throw bad('Content-Length and Transfer-Encoding exclude each other.')
      if (head.minor === 0) throw bad('HTTP/1.0 knows no Transfer-Encoding.')
      if (this.#encoding !== 'chunked') throw bad('The only Transfer-Encoding served is chunked.')
      head.chunked = true
    } else if (this.#length !== null) {
      if (!/^[0-9]{1,15}$/.test(this.#length)) throw bad('Content-Length must be one number of bytes.')
      head.bodyLength = Number(this.#length)
    }
  }
}

/** Absolute form is read as origin form; its authority must be the Host, or two readers would route differently. */
function readTarget(head: RequestHead): void {
  if (head.target.startsWith('/')) {
    if (head.host === '' && head.minor === 1) throw bad('There is no Host header.')
    return
  }
  if (head.target === '*' && head.method === 'OPTIONS') {
    if (head.host === '' && head.minor === 1) throw bad('There is no Host header.')
    return
  }
  const absolute = /^http:\/\/([^/?#]+)(.*)$/i.exec(head.target)
  if (!absolute) throw bad('The request target must be a path.')
  const authority = hostOf(absolute[1]!)
  if (head.host === '' && head.minor === 1) throw bad('There is no Host header.')
  if (head.host !== '' && head.host !== authority) throw bad('The target names another host than Host.')
  head.host = authority
  const rest = absolute[2]!
  head.target = rest.startsWith('/') ? rest : `/${rest}`
}

function hostOf(value: string): string {
  if (value.length > 260 || !hostValue.test(value)) throw bad('The Host header is not a host name.')
  return value.toLowerCase()
}

/** Hop-by-hop headers are those Connection lists, too. */
function withoutNamed(headers: string, options: readonly string[]): string {
  const named = options.filter((name) => name !== 'close' && name !== 'keep-alive' && name !== 'upgrade')
  if (named.length === 0) return headers
  return headers
    .split('\r\n')
    .filter((line) => line !== '' && !named.includes(line.slice(0, line.indexOf(':')).toLowerCase()))
    .map((line) => `${line}\r\n`)
    .join('')
}

/** Without spaces and tabs around it; not `trim()`, which also takes bytes such as 0xA0 for space. */
export function trimmed(value: string): string {
  let start = 0
  let end = value.length
  while (start < end && isSpace(value.charCodeAt(start))) start++
  while (end > start && isSpace(value.charCodeAt(end - 1))) end--
  return value.slice(start, end)
}

function isSpace(code: number): boolean {
  return code === 32 || code === 9
}
