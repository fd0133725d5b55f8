import type { IncomingMessage, ServerResponse } from 'node:http'

/** A request that is answered without looking at the protocol inside. */
export interface Refusal {
  status: number
  error: string
  details: string
  headers?: Record<string, string>
}

/**
 * Against a web page that makes a browser talk to this server: `Host` must be a loopback name or one that was
 * configured (`any` where the server is bound to more than loopback), and an `Origin`, when there is one, too.
 */
export function refuseForeign(req: IncomingMessage, allowedHosts: readonly string[] | 'any'): Refusal | null {
  const { host, origin } = req.headers
  const ours = (name: string) => isLoopback(name) || (allowedHosts !== 'any' && allowedHosts.includes(name))
  const asked = hostNameOf(`http://${host ?? ''}`)
  if (asked === null || !(allowedHosts === 'any' || ours(asked))) return hostForeign
  if (origin === undefined) return null
  const from = hostNameOf(origin)
  const sameServer = URL.canParse(origin) && new URL(origin).host === host?.toLowerCase()
  return from !== null && (sameServer || ours(from)) ? null : originForeign
}

const hostForeign: Refusal = {
  status: 403,
  error: 'Host not allowed',
  details: 'Use the address the platform prints when it starts, or set LONGSHORE_HOST to the name you use.',
}
const originForeign: Refusal = {
  status: 403,
  error: 'Origin not allowed',
  details:
    'Web pages of other origins may not use this server. Clients that are not browsers send no Origin.',
}

function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name)
}

function hostNameOf(address: string): string | null {
  if (!URL.canParse(address)) return null
  const { hostname, username } = new URL(address)
  return hostname === '' || username !== '' ? null : hostname.toLowerCase()
}

/** GET only takes up a stream again. */
export function isOurMethod({ method, headers }: IncomingMessage): boolean {
  if (method === 'GET') return headers['last-event-id'] !== undefined
  return method === 'POST' || method === 'DELETE'
}

/** The token of the Authorization header, with or without `Bearer`; null when there is none (A5). */
export function tokenOf(req: IncomingMessage): string | null {
  const value = req.headers.authorization?.trim() ?? ''
  const token = /^bearer\s/i.test(value) ? value.slice(7).trim() : value
  return token === '' || /^bearer$/i.test(token) ? null : token
}

export const unauthenticated: Refusal = {
  status: 401,
  error: 'User not authenticated',
  details: 'Send the header Authorization: Bearer <token> with every request, a user or environment token.',
  headers: { 'www-authenticate': 'Bearer realm="longshore"' },
}

/** Answers a refusal as `{error, details}` and lets the connection go when a body is still under way. */
export function refuse(req: IncomingMessage, res: ServerResponse, refusal: Refusal): void {
  if (res.headersSent || res.destroyed) return
  const body = JSON.stringify({ error: refusal.error, details: refusal.details })
  res.writeHead(refusal.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(req.complete ? {} : { connection: 'close' }),
    ...refusal.headers,
  })
  res.end(body)
}

/**
 * Reads a body of at most `bytes`; `too large` when it is larger, `gone` when the client left before its end, or was
 * cut off as it took longer than `ms`.
 */
export async function readBody(
  req: IncomingMessage,
  { bytes, ms }: { bytes: number; ms: number },
): Promise<Buffer | 'too large' | 'gone'> {
  if (Number(req.headers['content-length'] ?? 0) > bytes) return 'too large'
  const chunks: Buffer[] = []
  let size = 0
  const timer = setTimeout(() => req.destroy(), ms)
  try {
    for await (const chunk of req as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > bytes) return 'too large'
      chunks.push(chunk)
    }
  } catch (error) {
    if (!req.complete) return 'gone'
    throw error
  } finally {
    clearTimeout(timer)
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}
