import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { bearerToken } from '../bearer-token.ts'
import { AppError } from '../errors.ts'
import type { ConsoleSessions } from '../operations/access/console-sessions.ts'

/** The credential of a request. */
interface Credential {
  token: string | null
  credential: 'token' | 'session' | 'grant'
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before the handler of an operation runs; `principal` is that of its caller. */
    credential: Credential & { principal: string }
  }
}

/** Throws `unauthenticated` for an expired session and `forbidden` for a request of another origin. */
export type CredentialReader = (headers: IncomingHttpHeaders) => Promise<Credential>

/** The header of the console's own script; a page of another origin cannot send it without a preflight. */
const consoleHeader = 'longshore-console'

/** The grant that `/mcp` of this process acts for, as `callerOf` takes it; null for every text that it did not make. */
export type GrantReader = (credential: string) => string | null

/** A cookie is accepted only from the console's own pages; `Authorization` always wins over it. */
export function credentialReader(
  sessions: ConsoleSessions | undefined,
  grantOf: GrantReader = () => null,
): CredentialReader {
  return async (headers) => {
    const token = bearerToken(headers)
    const grant = token === null ? null : grantOf(token)
    if (grant !== null) return { token: grant, credential: 'grant' }
    const byToken = { token, credential: 'token' as const }
    if (!sessions || headers.authorization !== undefined || headers[consoleHeader] === undefined)
      return byToken
    requireOwnPage(headers)
    const sessionId = sessionIdOf(headers)
    if (sessionId === null) return byToken
    await sessions.check(sessionId)
    return { token: sessionId, credential: 'session' }
  }
}

/** CSRF defense: requires the console's header, and an `Origin`, if present, that is exactly this server. */
export function requireOwnPage(headers: IncomingHttpHeaders): void {
  const site = headers['sec-fetch-site']
  const sameSite = site === undefined || site === 'same-origin'
  if (headers[consoleHeader] === '1' && sameSite && isOwnOrigin(headers)) return
  throw new AppError('forbidden', 'Origin not allowed', {
    details: 'Only pages of the console itself may use its session.',
  })
}

function isOwnOrigin({ origin, host, ...headers }: IncomingHttpHeaders): boolean {
  if (origin === undefined) return true
  const scheme = isHttps(headers) ? 'https' : 'http'
  return origin.toLowerCase() === `${scheme}://${host?.toLowerCase()}`
}

/** Whether the browser came through a proxy with TLS. A forged header only affects the sender's own cookie. */
export function isHttps(headers: IncomingHttpHeaders): boolean {
  return headers['x-forwarded-proto'] === 'https'
}

/**
 * Cookies are shared across ports, so the name contains the port: two installations on one machine stay signed in side
 * by side. Over TLS the `__Host-` prefix keeps other hosts of the domain from setting it.
 */
export function cookieNameOf(headers: IncomingHttpHeaders): string {
  const port = /:(\d{1,5})$/.exec(headers.host ?? '')?.[1]
  return `${isHttps(headers) ? '__Host-' : ''}longshore-session${port ? `-${port}` : ''}`
}

export function sessionIdOf(headers: IncomingHttpHeaders): string | null {
  const name = `${cookieNameOf(headers)}=`
  const pair = (headers.cookie ?? '').split(/; */).find((one) => one.startsWith(name))
  const value = pair?.slice(name.length) ?? ''
  return /^[A-Za-z0-9_-]{43}$/.test(value) ? value : null
}

/** Sets the ETag of a body; true when the browser already has this body, so that polling costs little. */
export function notModified(request: FastifyRequest, reply: FastifyReply, body: string): boolean {
  const tag = `"${createHash('sha1').update(body).digest('base64url')}"`
  reply.header('etag', tag)
  return request.headers['if-none-match'] === tag
}
