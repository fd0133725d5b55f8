import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { bearerToken } from '../bearer-token.ts'
import { type PasskeyAnswer, passkeyAnswer, type SignInMethods } from '../contract/sign-in.ts'
import { AppError } from '../errors.ts'
import type { OidcClient } from '../oauth/oidc-client.ts'
import type { Claim, ConsoleSessions, SignedIn } from '../operations/access/console-sessions.ts'
import type { MailedLinks } from '../operations/access/mailed-links.ts'
import type { Passkeys } from '../operations/access/passkeys.ts'
import type { ClientFacts } from '../operations/access/record-sign-in.ts'
import type { OperationRunner } from '../operations/core/call.ts'
import { cookieNameOf, isHttps, requireOwnPage, sessionIdOf } from './console-credential.ts'
import { type BodyLimits, readJsonBody } from './json-body.ts'
import { addPasskeyRoutes } from './passkey-routes.ts'
import { relyingPartyOf } from './relying-party.ts'

export const consolePath = '/console/'

type OidcAnswer = Awaited<ReturnType<OidcClient['finish']>>

export interface SignInOptions {
  sessions: ConsoleSessions
  /** One-time links work only while the server is bound to loopback. */
  allowsLinks: boolean
  /** Absent where no mail server is configured. */
  mailedLinks?: MailedLinks | undefined
  passkeys: Passkeys
  /** Absent: off. */
  oidc?: { client: OidcClient; claim: (person: OidcAnswer['person']) => Claim } | undefined
  /** Undefined: people reach the platform under the address of the API. */
  publicUrl?: string | undefined
}

/** Address of a one-time link. The code is in the fragment, so no server, log or Referer sees it. */
export function signInUrl(apiUrl: string, code: string): string {
  return `${apiUrl}${consolePath}sign-in#${code}`
}

/** Adds the routes with which the console's pages sign in and out. */
export function addSignInRoutes(
  app: FastifyInstance,
  options: SignInOptions,
  runner: OperationRunner,
  limits: BodyLimits,
): void {
  const { mailedLinks, publicUrl, sessions, passkeys } = options
  app.get('/console/sign-in-methods', async ({ headers }, reply) => {
    const methods: SignInMethods = {
      email: mailedLinks !== undefined,
      passkey: relyingPartyOf(headers, publicUrl) !== null,
      oidc: options.oidc?.client.name ?? null,
    }
    return reply.send(JSON.stringify(methods))
  })
  addOwnLinks(app, options, runner)
  if (mailedLinks !== undefined) addMailedLinks(app, mailedLinks, runner, limits)
  addPasskeyRoutes(app, { passkeys, sessions, publicUrl }, runner, limits)
  addSessions(app, options, runner, limits)
}

/** Links that a person makes with a token, by `longshore console`. */
function addOwnLinks(
  app: FastifyInstance,
  { sessions, allowsLinks }: SignInOptions,
  runner: OperationRunner,
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
}

function addMailedLinks(
  app: FastifyInstance,
  links: MailedLinks,
  runner: OperationRunner,
  limits: BodyLimits,
): void {
  app.post('/console/sign-in-mail', async (request, reply) => {
    requireOwnPage(request.headers)
    const { email } = textOf(await readJsonBody(request.raw, limits), ['email'])
    if (!/^[^\s@]{1,64}@[^\s@]{1,255}$/.test(email!)) {
      throw new AppError('invalid', 'This is not an e-mail address', { details: 'Send one such as a@b.com.' })
    }
    links.request(email!, request.ip)
    const message = 'If a user has this address, a link is on its way. It works once, for 15 minutes.'
    return reply.send(JSON.stringify({ message }))
  })
  app.post('/console/mailed-link', async (request, reply) => {
    requireOwnPage(request.headers)
    const { mailCode } = textOf(await readJsonBody(request.raw, limits), ['mailCode'])
    const shown = await links.preview(mailCode!).catch((error) => countFailure(error, runner, request.ip))
    return reply.send(JSON.stringify(shown))
  })
}

function addSessions(
  app: FastifyInstance,
  options: SignInOptions,
  runner: OperationRunner,
  limits: BodyLimits,
): void {
  const { sessions } = options
  app.post('/console/session', async (request, reply) => {
    requireOwnPage(request.headers)
    const by = presentedIn(await readJsonBody(request.raw, limits))
    // A wrong token counts against the address, as on every other route.
    if (by.token !== undefined) await runner.authenticate(by.token, { address: request.ip, reads: false })
    const signedIn = await open(options, by, request).catch((error) =>
      countFailure(error, by.token === undefined ? runner : null, request.ip),
    )
    await replaceSession(sessions, request, reply, signedIn)
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

type Presented = Partial<Record<'code' | 'token' | 'mailCode', string>> & { passkey?: PasskeyAnswer }

function presentedIn(body: Record<string, unknown>): Presented {
  if (!('passkey' in body)) return textOf(body, ['code', 'token', 'mailCode'])
  const parsed = z.strictObject({ passkey: passkeyAnswer }).safeParse(body)
  if (parsed.success) return parsed.data
  throw new AppError('invalid', 'Invalid request', { details: 'passkey: must be the answer of a passkey' })
}

async function open(
  { sessions, mailedLinks, passkeys }: SignInOptions,
  { token, code, passkey, mailCode = '' }: Presented,
  request: FastifyRequest,
): Promise<SignedIn> {
  const client = clientOf(request)
  if (token !== undefined) return sessions.signIn({ token }, client)
  if (code !== undefined) return sessions.signIn({ code }, client)
  if (passkey !== undefined) return sessions.open(await passkeys.claim(passkey), client)
  if (mailedLinks === undefined) throw new AppError('forbidden', 'Sign-in by e-mail is off')
  return sessions.open(mailedLinks.claim(mailCode), client)
}

/** The browser that signs in. */
export function clientOf({ ip: address, headers }: FastifyRequest): ClientFacts {
  return { address, userAgent: headers['user-agent'] ?? null }
}

/** Always a new session id, against session fixation; the old session ends. */
export async function replaceSession(
  sessions: ConsoleSessions,
  request: FastifyRequest,
  reply: FastifyReply,
  signedIn: SignedIn,
): Promise<void> {
  const old = sessionIdOf(request.headers)
  if (old !== null) await sessions.signOut(old, false)
  setCookie(request, reply, signedIn)
}

/** Exactly one of the fields, as one line of printable text. */
function textOf<Name extends string>(
  body: Record<string, unknown>,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const [[name, value] = ['', ''], ...more] = Object.entries(body)
  const text = typeof value === 'string' ? value.trim() : ''
  const isKnown = (names as readonly string[]).includes(name) && more.length === 0
  if (isKnown && (name === 'email' ? text.length <= 320 : /^[\x21-\x7e]{1,256}$/.test(text)))
    return { [name]: text } as Partial<Record<Name, string>>
  throw new AppError('invalid', 'Invalid request', {
    details: `Send either ${names.join(' or ')}, one line of printable characters.`,
  })
}

/** Counts a wrong code against the address as a wrong token is counted, and by the same limit. */
async function countFailure(error: unknown, runner: OperationRunner | null, address: string): Promise<never> {
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
