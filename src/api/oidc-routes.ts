import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { escaped, page, sendPage } from './bare-page.ts'
import { isHttps } from './console-credential.ts'
import { errorResponse } from './error-response.ts'
import { clientOf, consolePath, replaceSession, type SignInOptions } from './sign-in-routes.ts'

const path = '/console/oidc'
const cookie = 'longshore-oidc'

/** Adds the two routes of OpenID Connect: to the provider, and back. */
export function addOidcRoutes(app: FastifyInstance, options: SignInOptions): void {
  const { oidc, publicUrl, sessions } = options
  if (oidc === undefined) return
  const addressOf = ({ headers }: FastifyRequest) =>
    publicUrl ?? `${isHttps(headers) ? 'https' : 'http'}://${headers.host}`

  app.get<{ Querystring: { next?: string } }>(path, async (request, reply) => {
    const { next } = request.query
    try {
      const { url, sealed, maxAgeSeconds } = await oidc.client.begin(
        `${addressOf(request)}${path}/callback`,
        {
          fresh: next !== undefined,
          next: insideConsole(next),
        },
      )
      setAttempt(request, reply, sealed, maxAgeSeconds)
      return reply.redirect(url)
    } catch (error) {
      return sendProblem(request, reply, error)
    }
  })
  app.get(`${path}/callback`, async (request, reply) => {
    const sealed = attemptIn(request)
    setAttempt(request, reply, '', 0)
    try {
      const query = request.url.slice(request.url.indexOf('?') + 1)
      const { person, next } = await oidc.client.finish(query, sealed)
      const signedIn = await sessions.open(oidc.claim(person), clientOf(request))
      await replaceSession(sessions, request, reply, signedIn)
      return reply.redirect(next)
    } catch (error) {
      return sendProblem(request, reply, error)
    }
  })
}

/** A path of the console, never another site. */
function insideConsole(next: unknown): string {
  const own = 'http://console.invalid'
  if (typeof next !== 'string' || next.length > 1_000 || !URL.canParse(next, own)) return consolePath
  const { origin, pathname, search } = new URL(next, own)
  const inside =
    origin === own && pathname.startsWith(consolePath) && !/^\/console\/(?:sign-in|oidc)/.test(pathname)
  return inside ? pathname + search : consolePath
}

/** The provider's page leads back here, so that a strict cookie would not come along. */
function setAttempt(request: FastifyRequest, reply: FastifyReply, value: string, maxAge: number): void {
  const secure = isHttps(request.headers) ? '; Secure' : ''
  const attributes = `Path=${path}; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`
  reply.header('set-cookie', `${cookie}=${value}; ${attributes}`)
}

function attemptIn({ headers }: FastifyRequest): string | null {
  const pair = (headers.cookie ?? '').split(/; */).find((one) => one.startsWith(`${cookie}=`))
  return pair?.slice(cookie.length + 1) || null
}

function sendProblem(request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
  const answer = errorResponse(error, request.id)
  request.failure = answer.bug ? error : null
  const text =
    error instanceof AppError ? `${error.message}. ${error.details ?? ''}` : 'Something went wrong.'
  const back = `<p><a href="${consolePath}sign-in">Sign in another way</a></p>`
  return sendPage(reply, answer.status, page('Not signed in', `<p role="alert">${escaped(text)}</p>${back}`))
}
