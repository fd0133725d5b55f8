import type { FastifyInstance } from 'fastify'
import { AppError } from '../errors.ts'
import type { ConsoleSessions } from '../operations/access/console-sessions.ts'
import type { Passkeys } from '../operations/access/passkeys.ts'
import type { OperationRunner } from '../operations/core/call.ts'
import { requireOwnPage, sessionIdOf } from './console-credential.ts'
import { type BodyLimits, readJsonBody } from './json-body.ts'
import { relyingPartyOf } from './relying-party.ts'

interface PasskeyRoutes {
  passkeys: Passkeys
  sessions: ConsoleSessions
  publicUrl: string | undefined
}

/** Adds the route of challenges: for a sign-in, or for a new passkey of the session's user. */
export function addPasskeyRoutes(
  app: FastifyInstance,
  { passkeys, sessions, publicUrl }: PasskeyRoutes,
  runner: OperationRunner,
  limits: BodyLimits,
): void {
  app.post('/console/passkey-challenge', async (request, reply) => {
    requireOwnPage(request.headers)
    const { for: purpose, ...more } = await readJsonBody(request.raw, limits)
    if ((purpose !== 'sign-in' && purpose !== 'registration') || Object.keys(more).length > 0)
      throw new AppError('invalid', 'Invalid request', { details: 'for: must be sign-in or registration' })
    const site = relyingPartyOf(request.headers, publicUrl)
    if (site === null) throw passkeysOff()
    if (purpose === 'sign-in') return reply.send(JSON.stringify(await passkeys.forSignIn(site)))
    const sessionId = sessionIdOf(request.headers)
    const by = { address: request.ip, reads: true, credential: 'session' as const }
    const userId = await runner.authenticate(sessionId, by)
    await sessions.check(sessionId!)
    return reply.send(JSON.stringify(await passkeys.forRegistration(site, userId)))
  })
}

function passkeysOff(): AppError {
  return new AppError('forbidden', 'Passkeys do not work at this address', {
    details:
      'They need https (or http://localhost) and a name, that of LONGSHORE_PUBLIC_URL where it is set, not an IP address.',
  })
}
