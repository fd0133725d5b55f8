import type { FastifyInstance, FastifyRequest } from 'fastify'
import { consentDecision } from '../contract/consent.ts'
import { AppError } from '../errors.ts'
import { OAuthError } from '../oauth/oauth-error.ts'
import type { EmbeddedServer, OAuthRoutes } from '../oauth/server.ts'
import type { ConsoleSessions } from '../operations/access/console-sessions.ts'
import { requireOwnPage, sessionIdOf } from './console-credential.ts'
import { type BodyLimits, readJsonBody } from './json-body.ts'

const limits: BodyLimits = { bytes: 32 * 1024, timeoutMs: 15_000 }
const path = '/console/authorization'

/** Adds the routes of the consent page: only with a session, and only for pages of this server itself. */
export function addConsentRoutes(
  app: FastifyInstance,
  { routes, server, sessions }: { routes: OAuthRoutes; server: EmbeddedServer; sessions: ConsoleSessions },
): void {
  const requestOf = async ({ headers }: FastifyRequest, query: string, sessionId: string) => ({
    query: new URLSearchParams(query),
    sessionId,
    addresses: routes.addresses(headers.host),
  })
  app.get(path, async (request) => {
    const sessionId = await sessionOf(request, sessions)
    // As one parameter, like the decision: the person decides about the very text that the page described.
    const { searchParams } = new URL(request.raw.url ?? '', 'http://localhost')
    const query = searchParams.get('request') ?? ''
    return JSON.stringify(
      await forPeople(async () => server.consent.describe(await requestOf(request, query, sessionId))),
    )
  })
  app.post(path, async (request) => {
    const sessionId = await sessionOf(request, sessions)
    const decision = decisionOf(await readJsonBody(request.raw, limits))
    return JSON.stringify(
      await forPeople(async () =>
        server.consent.decide(await requestOf(request, decision.request, sessionId), decision),
      ),
    )
  })
}

function decisionOf(body: Record<string, unknown>) {
  const parsed = consentDecision.safeParse(body)
  if (parsed.success) return parsed.data
  const details = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')
  throw new AppError('invalid', 'Invalid request', { details })
}

async function sessionOf({ headers }: FastifyRequest, sessions: ConsoleSessions): Promise<string> {
  requireOwnPage(headers)
  const sessionId = sessionIdOf(headers)
  if (sessionId === null)
    throw new AppError('unauthenticated', 'Session expired', { details: 'Sign in again.' })
  await sessions.check(sessionId)
  return sessionId
}

/** Errors that must not go to the client's address are shown to the person. */
async function forPeople<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    const kind = error.retryAfterSeconds === null ? 'invalid' : 'rate-limited'
    throw new AppError(kind, 'This program cannot be connected', {
      details: error.description,
      ...(error.retryAfterSeconds === null ? {} : { retryAfterSeconds: error.retryAfterSeconds }),
    })
  }
}
