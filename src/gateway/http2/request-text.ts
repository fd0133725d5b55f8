import type { IncomingHttpHeaders } from 'node:http2'

interface RequestText {
  /** The request line and headers in HTTP/1.1. */
  head: string
  isHead: boolean
  chunked: boolean
}

/** Headers of a connection, which streams have none of, and those that are written here. */
const left = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'te',
  'host',
  'content-length',
])
const unsafe = /[\r\n\0]/
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** The request of a stream in HTTP/1.1; null: it is malformed (RFC 9113, 8.3). `ends`: it has no body. */
export function requestText(headers: IncomingHttpHeaders, ends: boolean): RequestText | null {
  const { ':method': method = '', ':path': path = '', ':authority': authority, ':scheme': scheme } = headers
  const host = authority ?? headers.host
  const isAmbiguous = authority !== undefined && headers.host !== undefined && authority !== headers.host
  if (!token.test(method) || method === 'CONNECT' || scheme === undefined) return null
  if (!/^(?:\/[^\s]*|\*)$/.test(path) || host === undefined || host === '' || isAmbiguous) return null
  const length = headers['content-length']
  const chunked = !ends && length === undefined
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`, 'connection: close']
  if (length !== undefined) lines.push(`content-length: ${length}`)
  else if (chunked) lines.push('transfer-encoding: chunked')
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(':') || left.has(name) || value === undefined) continue
    for (const one of Array.isArray(value) ? value : [value]) lines.push(`${name}: ${one}`)
  }
  if (lines.some((line) => unsafe.test(line))) return null
  return { head: `${lines.join('\r\n')}\r\n\r\n`, isHead: method === 'HEAD', chunked }
}
