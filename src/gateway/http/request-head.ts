import { isTraceparent } from '../../trace.ts'
import { type ForwardingHeaders, keepForwarding } from './forwarding-headers.ts'

/** A request that must not be served, with the reply for it. */
export class RequestRefused extends Error {
  readonly status: number
  readonly details: string

  constructor(status: number, message: string, details: string) {
    super(message)
    this.status = status
    this.details = details
  }
}

/** Limit of request line and headers together, in bytes. */
export const maxHeadBytes = 32 * 1024

/** The parsed and validated header lines of a request; reused if the next request has the same lines. */
export interface HeaderBlock {
  /** The lines as sent. */
  text: string
  /** Host in lower case, with its port if it had one; empty if there was none. */
  host: string
  contentLength: string | null
  transferEncoding: string | null
  /** The options of Connection, in lower case. */
  connection: readonly string[]
  upgrade: string
  /** The header lines to forward, each ending in CRLF: without hop-by-hop, framing and forwarding ones. */
  headers: string
  /** The client accepts HTML: it is a browser. */
  acceptsHtml: boolean
  /** What the client says about forwarding, and what the container gets instead, once that is known. */
  forwarding: ForwardingHeaders
  forwarded: { lines: string; clientAddress: string; isSecure: boolean } | null
  /** The valid `traceparent`; null if it is not valid, undefined if there is none. */
  traceparent: string | null | undefined
  /** The `tracestate` lines, each ending in CRLF: they mean nothing without a valid `traceparent`. */
  tracestate: string
}

/** The validated head of one request. */
export interface RequestHead {
  method: string
  /** Origin form (`/path?query`) or `*`. */
  target: string
  /** 1 for HTTP/1.1, 0 for HTTP/1.0. */
  minor: number
  host: string
  /** Length of the body in bytes; 0 for none. Meaningless if `chunked`. */
  bodyLength: number
  chunked: boolean
  /** The client requested to keep the connection. */
  keepAlive: boolean
  /** The request asks to become a WebSocket. */
  upgrade: boolean
  /** Sent to the container; null until it is made for a request that brought none. */
  traceparent: string | null
  block: HeaderBlock
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const hostValue = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/
/** A control character, or a CR or LF that is not part of a CRLF. */
const forbidden = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?:^|[^\r])\n/

function bad(details: string): RequestRefused {
  return new RequestRefused(400, 'Bad request', details)
}

/**
 * Rejects ambiguous input (two lengths, two hosts, folded lines, stray control characters): the container
 * gets a head made of the parsed values. `text` is latin1 without the last CRLF; `previous`, the block of an
 * earlier request, is reused if its lines are the same. Throws `RequestRefused`.
 */
export function parseRequestHead(text: string, previous: HeaderBlock | null = null): RequestHead {
  let lineEnd = text.indexOf('\r\n')
  if (lineEnd < 0) lineEnd = text.length
  const line = text.slice(0, lineEnd)
  if (forbidden.test(line)) throw bad('The request line contains a control character.')
  const lines = text.slice(lineEnd + 2)
  const block = previous !== null && previous.text === lines ? previous : parseHeaderBlock(lines)
  const first = line.indexOf(' ')
  const last = line.lastIndexOf(' ')
  const method = line.slice(0, first)
  const minor = minorVersion(line.slice(last + 1))
  if (first <= 0 || last <= first || !token.test(method)) {
    throw bad('The request line must be a method, a target and a version.')
  }
  if (method === 'CONNECT' || method === 'TRACE') {
    throw new RequestRefused(405, 'Method not allowed', `${method} is not served here.`)
  }
  const head: RequestHead = {
    method,
    target: line.slice(first + 1, last),
    minor,
    host: block.host,
    bodyLength: 0,
    chunked: false,
    keepAlive: minor === 1,
    upgrade: false,
    traceparent: block.traceparent ?? null,
    block,
  }
  readTarget(head)
  readFraming(head, block)
  readConnection(head, block)
  return head
}

function minorVersion(version: string): number {
  if (version === 'HTTP/1.1') return 1
  if (version === 'HTTP/1.0') return 0
  if (!/^HTTP\/[0-9](?:\.[0-9])?$/.test(version)) throw bad('The request line has no HTTP version.')
  throw new RequestRefused(505, 'HTTP version not supported', 'Use HTTP/1.1.')
}

function parseHeaderBlock(text: string): HeaderBlock {
  if (forbidden.test(text)) throw bad('The request head contains a control character or a bare line break.')
  const block: HeaderBlock = {
    text,
    host: '',
    contentLength: null,
    transferEncoding: null,
    connection: [],
    upgrade: '',
    headers: '',
    acceptsHtml: false,
    forwarding: {},
    forwarded: null,
    traceparent: undefined,
    tracestate: '',
  }
  let start = 0
  while (start < text.length) {
    let end = text.indexOf('\r\n', start)
    if (end < 0) end = text.length
    const colon = text.indexOf(':', start)
    if (colon < 0 || colon > end) throw bad('A header line has no colon.')
    const name = text.slice(start, colon)
    if (!token.test(name)) {
      throw bad('A header name has a character that is not allowed, or a line is folded.')
    }
    if (goesOn(block, name.toLowerCase(), text, colon + 1, end)) {
      block.headers += `${text.slice(start, end)}\r\n`
    }
    start = end + 2
  }
  block.headers = withoutNamed(block.headers, block.connection)
  return block
}

/** Evaluates one header; true if the line is forwarded to the container. */
function goesOn(block: HeaderBlock, name: string, text: string, valueStart: number, end: number): boolean {
  const value = () => trimmed(text.slice(valueStart, end))
  switch (name) {
    case 'host':
      if (block.host !== '') throw bad('There is more than one Host header.')
      block.host = hostOf(value())
      return false
    case 'connection':
      block.connection = block.connection.concat(
        value().toLowerCase().split(',').map(trimmed).filter(Boolean),
      )
      return false
    case 'content-length':
      if (block.contentLength !== null) throw bad('There is more than one Content-Length header.')
      block.contentLength = value()
      return false
    case 'transfer-encoding':
      if (block.transferEncoding !== null) throw bad('There is more than one Transfer-Encoding header.')
      block.transferEncoding = value().toLowerCase()
      return false
    case 'accept':
      if (/\btext\/html\b/i.test(value())) block.acceptsHtml = true
      return true
    case 'upgrade':
      block.upgrade = value().toLowerCase()
      return false
    case 'traceparent':
      readTraceparent(block, value())
      return false
    case 'tracestate':
      block.tracestate += `tracestate: ${value()}\r\n`
      return false
    case 'expect':
      if (value().toLowerCase() === '100-continue') return true
      throw new RequestRefused(417, 'Expectation failed', 'Only Expect: 100-continue is supported.')
    case 'keep-alive':
    case 'proxy-connection':
    case 'proxy-authorization':
    case 'proxy-authenticate':
    case 'te':
    case 'trailer':
    case 'http2-settings':
      return false
    default:
      return !keepForwarding(block.forwarding, name, text.slice(valueStart, end).trim())
  }
}

function readTraceparent(block: HeaderBlock, value: string): void {
  // Two `traceparent` headers: it is unknown which trace is meant, so neither is used.
  const isFirst = block.traceparent === undefined
  block.traceparent = isFirst && isTraceparent(value) ? value : null
}

function readFraming(head: RequestHead, block: HeaderBlock): void {
  const { contentLength, transferEncoding } = block
  if (transferEncoding !== null) {
    if (contentLength !== null) throw bad('Content-Length and Transfer-Encoding exclude each other.')
    if (head.minor === 0) throw bad('HTTP/1.0 has no Transfer-Encoding.')
    if (transferEncoding !== 'chunked') throw bad('The only Transfer-Encoding served is chunked.')
    head.chunked = true
  } else if (contentLength !== null) {
    if (!/^[0-9]{1,15}$/.test(contentLength)) throw bad('Content-Length must be one number of bytes.')
    head.bodyLength = Number(contentLength)
  }
}

function readConnection(head: RequestHead, block: HeaderBlock): void {
  const options = block.connection
  if (options.length === 0) return
  if (options.includes('close')) head.keepAlive = false
  else if (options.includes('keep-alive')) head.keepAlive = true
  head.upgrade =
    options.includes('upgrade') &&
    block.upgrade === 'websocket' &&
    head.method === 'GET' &&
    head.minor === 1 &&
    head.bodyLength === 0 &&
    !head.chunked
}

/**
 * Absolute form is converted to origin form; its authority must equal Host, or two readers would route differently.
 */
function readTarget(head: RequestHead): void {
  const { target } = head
  if (target.includes(' ') || target.includes('\t')) throw bad('The request target contains a space.')
  if (head.host === '' && head.minor === 1) throw bad('There is no Host header.')
  if (target.startsWith('/') || (target === '*' && head.method === 'OPTIONS')) return
  const absolute = /^http:\/\/([^/?#]+)(.*)$/i.exec(target)
  if (!absolute) throw bad('The request target must be a path.')
  const authority = hostOf(absolute[1]!)
  if (head.host !== '' && head.host !== authority) throw bad('The target names another host than Host.')
  head.host = authority
  const rest = absolute[2]!
  head.target = rest.startsWith('/') ? rest : `/${rest}`
}

function hostOf(value: string): string {
  if (value.length > 260 || !hostValue.test(value)) throw bad('The Host header is not a host name.')
  return value.toLowerCase()
}

/** The headers listed in Connection are hop-by-hop too. */
function withoutNamed(headers: string, options: readonly string[]): string {
  const named = options.filter((name) => name !== 'close' && name !== 'keep-alive' && name !== 'upgrade')
  if (named.length === 0) return headers
  return headers
    .split('\r\n')
    .filter((line) => line !== '' && !named.includes(line.slice(0, line.indexOf(':')).toLowerCase()))
    .map((line) => `${line}\r\n`)
    .join('')
}

/** Removes spaces and tabs around a value; `trim()` would also remove bytes such as 0xA0. */
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
