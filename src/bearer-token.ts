import type { IncomingHttpHeaders } from 'node:http'

/**
 * The token of a request: `Authorization`, with or without `Bearer` (A5, docs/interface.md#tokens). No other place is
 * supported, in particular not the query string.
 */
export function bearerToken({ authorization = '' }: IncomingHttpHeaders): string | null {
  const token = authorization.trim().replace(/^bearer(?: +|$)/i, '')
  return token === '' ? null : token
}
