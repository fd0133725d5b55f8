import { randomBytes } from 'node:crypto'
import { type Clock, timestamp } from '../../clock.ts'
import { tokenHash } from '../../domain/access/tokens.ts'
import { AppError } from '../../errors.ts'
import type { Db, Tx } from '../../store/db.ts'
import {
  deleteConsoleLinksOfUser,
  deleteConsoleSession,
  deleteConsoleSessionsOfUser,
  findConsoleSession,
  findTokenOfSession,
  forgetConsoleSessionsBefore,
  hasConsoleLink,
  insertConsoleLink,
  insertConsoleSession,
  keepConsoleLinks,
  keepConsoleSessions,
  noteSessionUse,
  takeConsoleLink,
} from '../../store/repositories/console-sessions.ts'
import { type Caller, callerOf } from '../core/caller.ts'
import { readOnlyToken } from '../core/token-limits.ts'

const minuteMs = 60_000
const linkLifeMs = 10 * minuteMs
/** A session ends after this long without a request, and at the latest `absoluteMs` after sign-in. */
const idleMs = 4 * 60 * minuteMs
const absoluteMs = 24 * 60 * minuteMs
/** Limits for one token: one more ends its longest idle session, or its oldest link, and never those of another token. */
const [mostSessions, mostLinks] = [50, 20]
/** Records the last use at most this often: a console reads several times a second, and each record is a write. */
const noteEveryMs = minuteMs

export interface SignedIn {
  /** The value of the cookie; stored only as a hash. */
  sessionId: string
  expiresAt: string
  /** Lifetime in seconds. */
  maxAgeSeconds: number
}

/** Sign-in of browsers. A session acts with the user token that opened it and ends with that token. */
export interface ConsoleSessions {
  /** A code that signs in once within 10 minutes. Throws `unauthenticated` for an unknown token. */
  createLink(token: string | null): Promise<{ code: string; expiresAt: string }>
  /** Throws `unauthenticated` when the code is unknown, used or expired, or the token is invalid. */
  signIn(by: { code: string } | { token: string }): Promise<SignedIn>
  /** Throws `unauthenticated` unless the session exists and has not expired; records the use. */
  check(sessionId: string): Promise<void>
  /**
   * Ends this session, or every session and link of its user. Unknown ids are ignored. Throws `forbidden` if a read-only
   * token opened it: that token must not end what others opened.
   */
  signOut(sessionId: string, everywhere: boolean): Promise<void>
  /** Deletes expired rows. */
  sweep(): Promise<void>
}

export function createConsoleSessions({ db, clock }: { db: Db; clock: Clock }): ConsoleSessions {
  const at = (offsetMs = 0) => timestamp(clock.wallMs() + offsetMs)

  return {
    async createLink(token) {
      const code = randomBytes(32).toString('base64url')
      const expiresAt = at(linkLifeMs)
      await db.write(async (tx) => {
        const { userId, tokenId } = userOf(await callerOf(tx, { token }, at()))
        await keepConsoleLinks(tx, { userId, tokenId }, mostLinks - 1)
        await insertConsoleLink(tx, { codeHash: tokenHash(code), tokenId, userId, expiresAt })
      })
      return { code, expiresAt }
    },

    async signIn(by) {
      const sessionId = randomBytes(32).toString('base64url')
      const [now, expiresAt] = [at(), at(absoluteMs)]
      // Strangers may send any code: only one that exists gets a write transaction, which others wait for.
      if ('code' in by && !(await db.read((tx) => hasConsoleLink(tx, tokenHash(by.code)))))
        throw linkInvalid()
      await db.write(async (tx) => {
        const { userId, tokenId } =
          'code' in by ? await spendLink(tx, by.code, now) : userOf(await callerOf(tx, by, now))
        const session = { sessionHash: tokenHash(sessionId), tokenId, userId, usedAt: now, expiresAt }
        await keepConsoleSessions(tx, session, mostSessions - 1)
        await insertConsoleSession(tx, session)
        // Rejects a link whose token was revoked or expired in the meantime.
        await callerOf(tx, { token: sessionId, credential: 'session' }, now)
      })
      return { sessionId, expiresAt, maxAgeSeconds: absoluteMs / 1000 }
    },

    async check(sessionId) {
      const hash = tokenHash(sessionId)
      const session = await db.read((tx) => findConsoleSession(tx, hash))
      if (!session || session.expiresAt <= at() || session.usedAt <= at(-idleMs)) throw sessionOver()
      if (session.usedAt > at(-noteEveryMs)) return
      await db.write((tx) => noteSessionUse(tx, hash, at()))
    },

    async signOut(sessionId, everywhere) {
      const hash = tokenHash(sessionId)
      const session = await db.read((tx) => findConsoleSession(tx, hash))
      if (!session) return
      await db.write(async (tx) => {
        if (everywhere && (await findTokenOfSession(tx, hash))?.readOnly)
          throw readOnlyToken(signOutElsewhere)
        await deleteConsoleSession(tx, hash)
        if (!everywhere) return
        await deleteConsoleLinksOfUser(tx, session.userId)
        await deleteConsoleSessionsOfUser(tx, session.userId)
      })
    },

    sweep: () => db.write((tx) => forgetConsoleSessionsBefore(tx, { now: at(), idleSince: at(-idleMs) })),
  }
}

async function spendLink(tx: Tx, code: string, now: string): Promise<{ userId: string; tokenId: string }> {
  const link = await takeConsoleLink(tx, tokenHash(code))
  if (link && link.expiresAt > now) return link
  throw linkInvalid()
}

const signOutElsewhere = 'This session can only end itself. Sign in with another token of yours to end all.'

function linkInvalid(): AppError {
  return new AppError('unauthenticated', 'Sign-in link is not valid', {
    details: 'A link works once, within 10 minutes. Run `longshore console` for a new one, or paste a token.',
  })
}

/** A2: environment tokens cannot open the console, which shows everything that a person can access; nor can agents. */
function userOf(caller: Caller): { userId: string; tokenId: string } {
  if (caller.kind === 'user' && caller.actor !== 'agent')
    return { userId: caller.userId, tokenId: caller.token.tokenId }
  if (caller.kind === 'user') {
    throw new AppError('forbidden', 'Only people sign in to the console', {
      details: 'This is the token of an agent. Sign in with a token of your own.',
      rule: 'A2',
    })
  }
  throw new AppError('forbidden', 'The console needs a user token', {
    details: 'An environment token may deploy to and read its own environment only.',
    rule: 'A2',
  })
}

function sessionOver(): AppError {
  return new AppError('unauthenticated', 'Session expired', { details: 'Sign in again.' })
}
