import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { bearerToken } from '../bearer-token.ts'
import { AppError } from '../errors.ts'
import type { ConsoleSessions, SignedIn } from '../operations/access/console-sessions.ts'
import type { OperationRunner } from '../operations/core/call.ts'
import { cookieNameOf, isHttps, requireOwnPage, sessionIdOf } from './console-credential.ts'
import { type BodyLimits, readJsonBody } from './json-body.ts'

export const consolePath = '/console/'

export interface ConsoleOptions {
  /** Output folder of the build: index.html, assets/ and assets.json. */
  dir: string
  sessions: ConsoleSessions
  /** One-time links work only while the server is bound to loopback. */
  allowsLinks: boolean
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/** The security headers of every page, with its content security policy. */
export function pageHeaders(contentSecurityPolicy: string): Readonly<Record<string, string>> {
  return {
    'content-security-policy': contentSecurityPolicy,
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  }
}
const consoleHeaders = pageHeaders(policy)

/** Address of a one-time link. The code is in the fragment, so no server, log or Referer sees it. */
export function signInUrl(apiUrl: string, code: string): string {
  return `${apiUrl}${consolePath}sign-in#${code}`
}

/** Adds the console's pages and files, and its routes for signing in and out. */
export function addConsoleRoutes(
  app: FastifyInstance,
  options: ConsoleOptions,
  runner: OperationRunner,
  limits: BodyLimits,
): void {
  addFiles(app, options.dir)
  addSessionRoutes(app, options, runner, limits)
}

interface Asset {
  type: string
  /** Encodings with a precompressed copy of the file. */
  encodings: string[]
}

function addFiles(app: FastifyInstance, dir: string): void {
  const quiet = { exposeHeadRoute: true, config: { quiet: true } }
  // The same shell for every page, so that its response does not reveal which objects exist (M2).
  const shell = async (_request: FastifyRequest, reply: FastifyReply) =>
    reply
      .headers(consoleHeaders)
      .header('content-type', 'text/html; charset=utf-8')
      .send(await readFile(path.join(dir, 'index.html')))
  app.get('/console', quiet, (_request, reply) => reply.redirect(consolePath))
  app.get('/console/*', quiet, shell)
  let listed: Promise<Record<string, Asset>> | undefined
  app.get<{ Params: { name: string } }>('/console/assets/:name', quiet, async (request, reply) => {
    listed ??= readFile(path.join(dir, 'assets.json'), 'utf8').then((text) => JSON.parse(text))
    const assets = await listed.catch((error) => {
      // A read that failed once, such as for lack of open files, must not fail forever.
      listed = undefined
      throw error
    })
    const { name } = request.params
    const asset = Object.hasOwn(assets, name) ? assets[name] : undefined
    if (asset === undefined) throw new AppError('not-found', 'Not found')
    const accepted = String(request.headers['accept-encoding'] ?? '').split(/, */)
    const encoding = asset.encodings.find((one) => accepted.includes(one))
    if (encoding !== undefined) reply.header('content-encoding', encoding)
    return reply
      .headers(consoleHeaders)
      .header('content-type', asset.type)
      .header('vary', 'accept-encoding')
      .header('cache-control', 'public, max-age=31536000, immutable')
      .send(await readFile(path.join(dir, 'assets', encoding ? `${name}.${encoding}` : name)))
  })
}

function addSessionRoutes(
  app: FastifyInstance,
  { sessions, allowsLinks }: ConsoleOptions,
  runner: OperationRunner,
  limits: BodyLimits,
): void {
  app.post('/console/sign-in-link', async (request, reply) => {
    const token = bearerToken(request.headers)
    await runner.authenticate(token, { address: request.ip, reads: false })
    if (!allowsLinks) throw linksOff()
    const { code, expiresAt } = await sessions.createLink(token)
    return reply.send(
      JSON.stringify({ signInUrl: signInUrl(`http://${request.headers.host}`, code), expiresAt }),
    )
  })
  app.post('/console/session', async (request, reply) => {
    requireOwnPage(request.headers)
    const by = signInInput(await readJsonBody(request.raw, limits))
    // A wrong token counts against the address, as on every other route.
    if ('token' in by) await runner.authenticate(by.token, { address: request.ip, reads: false })
    // Always a new id, against session fixation.
    const old = sessionIdOf(request.headers)
    const signedIn = await sessions
      .signIn(by)
      .catch((error) => refuseSignIn(error, 'code' in by ? runner : null, request.ip))
    if (old !== null) await sessions.signOut(old, false)
    setCookie(request, reply, signedIn)
    return reply.send(JSON.stringify({ expiresAt: signedIn.expiresAt }))
  })
  const signOut = (everywhere: boolean) => async (request: FastifyRequest, reply: FastifyReply) => {
    requireOwnPage(request.headers)
    const sessionId = sessionIdOf(request.headers)
    if (sessionId !== null) {
      // "everywhere" requires a valid session; an expired one can only end itself.
      if (everywhere) await sessions.check(sessionId)
      await sessions.signOut(sessionId, everywhere)
    }
    setCookie(request, reply, null)
    return reply.send(JSON.stringify({ message: 'Signed out' }))
  }
  app.delete('/console/session', signOut(false))
  app.delete('/console/sessions', signOut(true))
}

function signInInput(body: Record<string, unknown>): { code: string } | { token: string } {
  const [[name, value] = ['', ''], ...more] = Object.entries(body)
  if ((name === 'code' || name === 'token') && typeof value === 'string' && more.length === 0) {
    const text = value.trim()
    if (/^[\x21-\x7e]{1,256}$/.test(text)) return name === 'code' ? { code: text } : { token: text }
  }
  throw new AppError('invalid', 'Invalid request', {
    details: 'Send either token or code, one line of printable characters.',
  })
}

/** Counts a wrong code against the address as a wrong token is counted, and by the same limit. */
async function refuseSignIn(error: unknown, runner: OperationRunner | null, address: string): Promise<never> {
  if (runner && kindOf(error) === 'unauthenticated') {
    // No token at all counts like a wrong one.
    const counted = await runner.authenticate(null, { address, reads: false }).catch((refusal) => refusal)
    if (kindOf(counted) === 'rate-limited') throw counted
  }
  throw error
}

function kindOf(error: unknown): string | null {
  return error instanceof AppError ? error.kind : null
}

function setCookie(request: FastifyRequest, reply: FastifyReply, signedIn: SignedIn | null): void {
  const attributes = [
    `${cookieNameOf(request.headers)}=${signedIn?.sessionId ?? ''}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Strict',
    `Max-Age=${signedIn?.maxAgeSeconds ?? 0}`,
    ...(isHttps(request.headers) ? ['Secure'] : []),
  ]
  reply.header('set-cookie', attributes.join('; '))
}

function linksOff(): AppError {
  return new AppError('forbidden', 'Sign-in links are disabled', {
    details: 'They work only while the server is bound to loopback. Sign in with a token instead.',
  })
}
