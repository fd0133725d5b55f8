import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose'
import { type Clock, timestamp } from '../clock.ts'
import { normalEmail } from '../contract/email-address.ts'
import { type Scope, scopesIn } from '../contract/scopes.ts'
import { mostTokensOfUser } from '../domain/access/tokens.ts'
import { newId } from '../domain/ids.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Db, Tx } from '../store/db.ts'
import {
  findGrantOfSubject,
  insertGrant,
  renewGrant,
  type StoredGrant,
} from '../store/repositories/oauth-grants.ts'
import { makeRoomForToken } from '../store/repositories/tokens.ts'
import { findUser, type User } from '../store/repositories/users.ts'
import type { FetchDocument } from './clients.ts'
import type { FindGrant } from './resource.ts'

interface ExternalOptions {
  db: Db
  clock: Clock
  log: Log
  issuer: string
  /** Reaches the operator's authorization server, which may be private. */
  fetchDocument: FetchDocument
  /** How long an unknown key id causes no new read of the keys. Default 30 s. */
  keyCooldownMs?: number
}

const metadataBytes = 256 * 1024
const keptMs = 60 * 60_000
const retryMs = 5_000
/** Signatures only: the holder of a shared secret could sign too. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

/**
 * Access tokens of an external authorization server: JWTs (RFC 9068) of the issuer for this resource, whose person is a
 * user here. Throws `unavailable` while its keys cannot be read.
 */
export function externalGrants(options: ExternalOptions): FindGrant {
  const { db, clock, log, issuer } = options
  const keys = keysOf(options)
  return async (token, resource) => {
    if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return null
    const claims = await verified(token, await keys(), { issuer, resource, clock })
    if (typeof claims === 'string') {
      log.info({ reason: claims }, 'a token of the authorization server was refused')
      return null
    }
    const grant = await grantOf(db, { issuer, claims, now: timestamp(clock.wallMs()) })
    if (grant === null) {
      const subject = String(claims.sub).slice(0, 100)
      log.info({ subject }, 'a token names no user of this installation, or the person revoked its client')
    }
    return grant
  }
}

/** Failures of the server's keys, not of the token: they time out, answer another status or no JSON, or are no key set. */
const keyFailures = ['ERR_JWKS_TIMEOUT', 'ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID']
/** How far the clocks of the servers may be apart. */
const toleranceSeconds = 5
/** The end of the year 9999: later times have no timestamp that compares as text. */
const lastSecond = 253_402_300_799

/** The claims of a valid token, or why it is not accepted. */
async function verified(
  token: string,
  keys: JWTVerifyGetKey,
  { issuer, resource, clock }: { issuer: string; resource: string; clock: Clock },
): Promise<JWTPayload | string> {
  const checks = {
    issuer,
    audience: [resource, `${resource}/`],
    algorithms,
    requiredClaims: ['sub', 'exp', 'iat'],
    clockTolerance: toleranceSeconds,
    currentDate: new Date(clock.wallMs()),
  }
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys, checks).catch((error) =>
      verifiedByOneOf(token, error, checks),
    )
    const type = (protectedHeader.typ ?? 'at+jwt').toLowerCase().replace('application/', '')
    if (type !== 'at+jwt' && type !== 'jwt') return `its type is ${type.slice(0, 40)}`
    // The library accepts any time of issue, and a revocation ends the tokens that were issued before it.
    const isFromFuture = payload.iat! * 1000 > clock.wallMs() + toleranceSeconds * 1000
    return isFromFuture ? 'it was issued in the future' : payload
  } catch (error) {
    if (error instanceof errors.JOSEError && !keyFailures.includes(error.code)) return error.code
    throw away(error)
  }
}

/** A token without a key id, where several keys could have signed it: while keys rotate, most servers publish two. */
async function verifiedByOneOf(token: string, error: unknown, checks: JWTVerifyOptions) {
  if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
  for await (const key of error) {
    try {
      return await jwtVerify(token, key, checks)
    } catch (failure) {
      if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure
    }
  }
  throw new errors.JWSSignatureVerificationFailed()
}

/** Reads the address of the keys from the metadata; the library caches the keys and reads them again for a new key id. */
function keysOf({ issuer, fetchDocument, clock, keyCooldownMs = 30_000 }: ExternalOptions) {
  let kept: { keys: Promise<JWTVerifyGetKey>; untilMs: number } | null = null
  const read = async (): Promise<JWTVerifyGetKey> => {
    const { jwks_uri: uri } = await readMetadata(issuer, fetchDocument)
    return createRemoteJWKSet(new URL(uri), {
      cooldownDuration: keyCooldownMs,
      [customFetch]: async (url) => {
        const { status, type, body } = await fetchDocument(url, metadataBytes)
        return new Response(new Uint8Array(body), { status, headers: { 'content-type': type } })
      },
    })
  }
  return (): Promise<JWTVerifyGetKey> => {
    if (kept === null || kept.untilMs <= clock.monotonicMs()) {
      const entry = { keys: read(), untilMs: clock.monotonicMs() + keptMs }
      kept = entry
      entry.keys.catch(() => {
        entry.untilMs = Math.min(entry.untilMs, clock.monotonicMs() + retryMs)
      })
    }
    return kept.keys.catch((error) => {
      throw away(error)
    })
  }
}

/** RFC 8414, and OpenID Connect Discovery, whose document many servers have alone. */
async function readMetadata(issuer: string, fetchDocument: FetchDocument): Promise<{ jwks_uri: string }> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]
  for (const place of places) {
    const { status, body } = await fetchDocument(place, metadataBytes)
    if (status !== 200) continue
    const metadata = JSON.parse(body.toString('utf8')) as { issuer?: unknown; jwks_uri?: unknown }
    if (metadata.issuer !== issuer) throw new Error('its metadata names another issuer')
    if (typeof metadata.jwks_uri === 'string') return { jwks_uri: metadata.jwks_uri }
  }
  throw new Error('it has no metadata with jwks_uri')
}

function away(cause: unknown): AppError {
  return new AppError('unavailable', 'The authorization server cannot be read', {
    details: 'Try again in a moment; the operator finds the cause in the log.',
    retryAfterSeconds: retryMs / 1000,
    cause,
  })
}

/**
 * Null if the person is no user here, or ended this client's access after the token was issued. The tokens of a person and
 * client share one grant, so that the person revokes them together; each call has the scopes of its own token.
 */
async function grantOf(
  db: Db,
  { issuer, claims, now }: { issuer: string; claims: JWTPayload; now: string },
): Promise<StoredGrant | null> {
  const clientId = clientOf(claims)
  const subject = JSON.stringify([issuer, claims.sub, clientId])
  const scopes = scopesOf(claims)
  const expiresAt = timestamp(Math.min(claims.exp!, lastSecond) * 1000)
  const find = async (tx: Tx) => {
    const user = await userOf(tx, claims)
    return user && { user, known: await findGrantOfSubject(tx, subject) }
  }
  const found = await db.read(find)
  if (found === null) return null
  const { user, known } = found
  if (isEnded(known, claims)) return null
  const issuedAt = timestamp(Math.max(claims.iat!, 0) * 1000)
  if (known && isCurrent(known, { user, scopes, expiresAt, issuedAt, now })) return known
  return db.write(async (tx) => {
    const again = await findGrantOfSubject(tx, subject)
    if (isEnded(again, claims)) return null
    const isListed = again?.userId === user.userId && again.expiresAt !== null
    if (!isListed && !(await makeRoomForToken(tx, user.userId, now))) throw tooManyTokens()
    const grant = {
      tokenId: again?.tokenId ?? newId('tok'),
      userId: user.userId,
      clientId,
      clientName: clientId,
      clientHost: new URL(issuer).host,
      scopes,
      limits: {
        readOnly: scopes.join() === 'environments:read',
        groups: null,
        pin: { account: null, app: null, env: null },
      },
      issuedAt: latest(issuedAt, again?.issuedAt),
    }
    // A token that ends sooner must not end the calls of another one.
    const until = latest(expiresAt, again?.expiresAt)
    if (again) await renewGrant(tx, grant, { now, expiresAt: until })
    else await insertGrant(tx, grant, { now, expiresAt, subject })
    return { ...grant, endedAt: again?.endedAt ?? null }
  })
}

/** A 403, because after a 401 the client would sign in again and again. */
function tooManyTokens(): AppError {
  return new AppError('forbidden', `The person has ${mostTokensOfUser} tokens and connected agents`, {
    details:
      'Ask the person to revoke one that is no longer needed, on the page Tokens of the console or with revoke-user-token.',
  })
}

/** Whether the person ended this client's access after the token was issued. */
function isEnded(known: StoredGrant | null, { iat }: JWTPayload): boolean {
  return known !== null && known.endedAt !== null && iat! * 1000 <= Date.parse(known.endedAt)
}

function isCurrent(
  known: StoredGrant & { expiresAt: string | null },
  token: { user: User; scopes: readonly Scope[]; expiresAt: string; issuedAt: string; now: string },
): boolean {
  const isSame = known.userId === token.user.userId && known.scopes.join() === token.scopes.join()
  const isListed = known.expiresAt !== null && known.expiresAt >= token.expiresAt
  // Of interest only while it is ahead of this clock: a revocation in that time must end the token too.
  return isSame && isListed && (token.issuedAt <= token.now || token.issuedAt <= (known.issuedAt ?? ''))
}

/** Timestamps compare as text. */
function latest(one: string, other: string | null | undefined): string {
  return other && other > one ? other : one
}

/** Only a verified address counts: others may be those of another person. */
async function userOf(tx: Tx, { sub, email, email_verified: isVerified }: JWTPayload): Promise<User | null> {
  const bySubject = sub?.startsWith('usr_') ? await findUser(tx, { userId: sub }) : null
  if (bySubject || isVerified !== true || typeof email !== 'string') return bySubject
  return findUser(tx, { email: normalEmail(email) })
}

function clientOf({ client_id: clientId, azp }: JWTPayload): string {
  const named = typeof clientId === 'string' ? clientId : typeof azp === 'string' ? azp : 'unknown client'
  return named.slice(0, 200)
}

/** Scopes as `scope` or `scp`; servers that grant by role send the same words as `roles` or `permissions`. */
function scopesOf(claims: JWTPayload): Scope[] {
  const words = ['scope', 'scp', 'roles', 'permissions'].flatMap((name) => claims[name] ?? [])
  return scopesIn(words.filter((word) => typeof word === 'string').join(' '))
}
