import { randomBytes } from 'node:crypto'
import { type Clock, timestamp } from '../../clock.ts'
import type { SignInMethod } from '../../contract/sign-in.ts'
import { isSessionOver, sessionLife } from '../../domain/access/session-life.ts'
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
import { ensureSignInToken } from '../../store/repositories/tokens.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { type Caller, callerOf } from '../core/caller.ts'
import { readOnlyToken } from '../core/token-limits.ts'
import { type ClientFacts, recordSignIn } from './record-sign-in.ts'

const minuteMs = 60_000
const linkLifeMs = 10 * minuteMs
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

/** A person who showed who they are. */
interface Proof {
  userId: string
  /** The token of the sign-in; null for a sign-in without one. */
  tokenId: string | null
  method: SignInMethod
  /** Null: the person showed it earlier, at an unknown time. */
  provedAt: string | null
}

/** Checks and spends what a person presents, in the transaction that opens the session. */
export type Claim = (tx: Tx, now: string) => Promise<Proof>

/** Sign-in of browsers. A session acts with the user token that opened it and ends with that token. */
export interface ConsoleSessions {
  /** A code that signs in once within 10 minutes. Throws `unauthenticated` for an unknown token. */
  createLink(token: string | null): Promise<{ code: string; expiresAt: string }>
  /** Throws `unauthenticated` when the code is unknown, used or expired, or the token is invalid. */
  signIn(by: { code: string } | { token: string }, client?: ClientFacts): Promise<SignedIn>
  /** Opens a session for whom `claim` names. */
  open(claim: Claim, client: ClientFacts): Promise<SignedIn>
  /** Throws `unauthenticated` unless the session exists and has not expired; records the use. */
  check(sessionId: string): Promise<void>
  /**
   * Ends this session, or every session and link of its user. Unknown ids are ignored. Throws `forbidden` if a read-only
   * token opened it: that token must not end what others opened.
   */
  signOut(sessionId: string, everywhere: boolean): Promise<void>
}

interface Deps {
  db: Db
  clock: Clock
  secrets: SecretBox
}

export function createConsoleSessions(deps: Deps): ConsoleSessions {
  const { db, clock } = deps
  const at = (offsetMs = 0) => timestamp(clock.wallMs() + offsetMs)
  const open = (claim: Claim, client: ClientFacts) => openSession(deps, claim, client)

  return {
    open,

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

    async signIn(by, client = { address: '', userAgent: null }) {
      // Strangers may send any code: only one that exists gets a write transaction, which others wait for.
      if ('code' in by && !(await db.read((tx) => hasConsoleLink(tx, tokenHash(by.code)))))
        throw linkInvalid()
      return open('code' in by ? claimOfLink(by.code) : claimOfToken(by.token), client)
    },

    async check(sessionId) {
      const hash = tokenHash(sessionId)
      const session = await db.read((tx) => findConsoleSession(tx, hash))
      if (!session || isSessionOver(session, clock.wallMs())) throw sessionOver()
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
  }
}

async function openSession(
  { db, clock, secrets }: Deps,
  claim: Claim,
  client: ClientFacts,
): Promise<SignedIn> {
  const sessionId = randomBytes(32).toString('base64url')
  const now = timestamp(clock.wallMs())
  const expiresAt = timestamp(clock.wallMs() + sessionLife.absoluteMs)
  await db.write(async (tx) => {
    const { userId, method, provedAt, ...by } = await claim(tx, now)
    const tokenId = by.tokenId ?? (await ensureSignInToken(tx, userId, now))
    const session = {
      ...{ sessionHash: tokenHash(sessionId), tokenId, userId, method, provedAt, expiresAt },
      ...{ createdAt: now, usedAt: now },
      ...{ userAgent: client.userAgent?.slice(0, 300) ?? null, clientAddress: client.address || null },
    }
    await keepConsoleSessions(tx, session, mostSessions - 1)
    await insertConsoleSession(tx, session)
    // Rejects a link whose token was revoked or expired in the meantime.
    await callerOf(tx, { token: sessionId, credential: 'session' }, now)
    await recordSignIn(tx, secrets, session)
  })
  return { sessionId, expiresAt, maxAgeSeconds: sessionLife.absoluteMs / 1000 }
}

/** Deletes expired sessions and links. */
export function forgetOldSessions({ db, clock }: { db: Db; clock: Clock }): Promise<void> {
  const nowMs = clock.wallMs()
  const idleSince = timestamp(nowMs - sessionLife.idleMs)
  return db.write((tx) => forgetConsoleSessionsBefore(tx, { now: timestamp(nowMs), idleSince }))
}

function claimOfToken(token: string): Claim {
  return async (tx, now) => {
    const { userId, tokenId } = userOf(await callerOf(tx, { token }, now))
    return { userId, tokenId, method: 'token', provedAt: now }
  }
}

function claimOfLink(code: string): Claim {
  return async (tx, now) => {
    const link = await takeConsoleLink(tx, tokenHash(code))
    if (!link || link.expiresAt <= now) throw linkInvalid()
    return { userId: link.userId, tokenId: link.tokenId, method: 'link', provedAt: now }
  }
}

const signOutElsewhere = 'This session can only end itself. Sign in with another token of yours to end all.'

export function linkInvalid(): AppError {
  return new AppError('unauthenticated', 'Sign-in link is not valid', {
    details:
      'A link works once, for a few minutes. Ask for a new one, run `longshore console`, or paste a token.',
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
