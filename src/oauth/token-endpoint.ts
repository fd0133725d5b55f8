import { type Clock, timestamp } from '../clock.ts'
import { verifiesChallenge } from '../domain/access/pkce.ts'
import { isExpired } from '../domain/access/token-expiry.ts'
import { mostTokensOfUser, newToken, tokenHash } from '../domain/access/tokens.ts'
import { networkOf, RateLimit } from '../operations/core/rate-limit.ts'
import type { Db, Tx } from '../store/db.ts'
import { noteOAuthClientUse } from '../store/repositories/oauth-clients.ts'
import {
  endGrant,
  findGrant,
  findOAuthSecret,
  insertGrant,
  insertOAuthSecret,
  type StoredGrant,
  takeOAuthSecret,
  takeStepUp,
} from '../store/repositories/oauth-grants.ts'
import { findToken, grantHash, makeRoomForToken } from '../store/repositories/tokens.ts'
import { namesResource } from './addresses.ts'
import { OAuthError } from './oauth-error.ts'
import { openPair, sealPair, type TokenPair } from './token-pair.ts'

const accessLifeMs = 60 * 60_000
/** A client that is not used for this long must ask the person again. */
const refreshLifeMs = 30 * 24 * 60 * 60_000
/** How soon after `insufficient_scope` a refresh means that the client asks for more. */
const stepUpMs = 30_000
/** How long a used refresh token answers the same pair: two windows of one host refresh at the same time. */
const graceMs = 30_000
/** Wrong codes and tokens from one address. */
const failures = { perSecond: 1, burst: 100 }
/** Refreshes of one sign-in, each of which stores two tokens. Clients refresh once an hour. */
const refreshes = { perSecond: 0.1, burst: 20 }

/** The grant and the limits behind an authorization code. */
export interface CodeRecord {
  grant: Omit<StoredGrant, 'tokenId' | 'endedAt'>
  grantExpiresAt: string | null
  redirectUri: string
  challenge: string
  resource: string
  /** The grant that this one replaces (step-up); absent in codes of an earlier version. */
  replaces?: string | null
}

/** The resource that an access or refresh token is valid for. */
export interface TokenRecord {
  resource: string
}

interface TokenAnswer {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  refresh_token: string
  scope: string
}

/** A refusal is returned, not thrown, so that the revocations it causes are stored. */
type Outcome = TokenAnswer | OAuthError
type UsableSecret = NonNullable<Awaited<ReturnType<typeof findOAuthSecret>>>
type Redemption = [hash: string, work: (tx: Tx) => Promise<Outcome>]

export class TokenEndpoint {
  readonly #db: Db
  readonly #clock: Clock
  readonly #failures: RateLimit
  readonly #refreshes: RateLimit

  constructor({ db, clock }: { db: Db; clock: Clock }) {
    this.#db = db
    this.#clock = clock
    this.#failures = new RateLimit(failures, clock)
    this.#refreshes = new RateLimit(refreshes, clock)
  }

  /** Answers a token request (RFC 6749, 4.1.3 and 6). Throws `OAuthError`. */
  async answer(form: URLSearchParams, address: string): Promise<TokenAnswer> {
    const type = one(form, 'grant_type')
    if (type !== 'authorization_code' && type !== 'refresh_token') {
      throw new OAuthError(
        'unsupported_grant_type',
        'grant_type must be authorization_code or refresh_token.',
      )
    }
    const [hash, work] = type === 'refresh_token' ? this.#refresh(form) : this.#exchange(form)
    // Strangers may send any text: only one that is known gets a write transaction, which others wait for.
    const known = await this.#db.read((tx) => findOAuthSecret(tx, hash, this.#at()))
    if (known?.kind === 'refresh') refuseBefore(this.#refreshes.take(known.tokenId), 'refreshes')
    const outcome = known ? await this.#db.write(work) : unknownSecret[type]
    if (!(outcome instanceof OAuthError)) return outcome
    refuseBefore(this.#failures.take(networkOf(address)), 'wrong codes or tokens')
    throw outcome
  }

  /** Ends the grant of an access or refresh token (RFC 7009); unknown tokens are ignored. */
  async revoke(form: URLSearchParams): Promise<void> {
    const [hash, clientId] = [tokenHash(one(form, 'token')), one(form, 'client_id')]
    const grantOf = async (tx: Tx) => {
      const secret = await findOAuthSecret(tx, hash, this.#at())
      const grant = secret && (await findGrant(tx, secret.tokenId))
      return grant?.clientId === clientId ? grant : null
    }
    if ((await this.#db.read(grantOf)) === null) return
    await this.#db.write(async (tx) => {
      const grant = await grantOf(tx)
      if (grant !== null) await endGrant(tx, grant.tokenId, this.#at())
    })
  }

  /** The hash of the presented secret, and the handler for it. */
  #exchange(form: URLSearchParams): Redemption {
    const [hash, verifier] = [tokenHash(one(form, 'code')), one(form, 'code_verifier')]
    const [clientId, redirectUri] = [one(form, 'client_id'), one(form, 'redirect_uri')]
    const work = async (tx: Tx) => {
      const now = this.#at()
      const code = await findOAuthSecret<CodeRecord>(tx, hash, now)
      if (code?.kind !== 'code') return unknownSecret.authorization_code
      const { tokenId, record } = code
      // A code that is used twice was stolen, so the tokens of its first use are revoked too.
      if (!(await takeOAuthSecret(tx, hash, now)))
        return this.#stolen(tx, tokenId, 'The code was used before.')
      const fits =
        record.grant.clientId === clientId &&
        record.redirectUri === redirectUri &&
        verifiesChallenge(verifier, record.challenge)
      if (!fits) return wrong('The code is of another client, address or verifier. Ask the person again.')
      if (!isFor(form, record)) return otherResource(record)
      await this.#endReplaced(tx, record, now)
      // Checked again: the person may have approved several requests at once.
      if (!(await makeRoomForToken(tx, record.grant.userId, now)))
        return wrong(`The person has ${mostTokensOfUser} tokens. Ask them to revoke one, then sign in again.`)
      await insertGrant(tx, { ...record.grant, tokenId }, { now, expiresAt: record.grantExpiresAt })
      await noteOAuthClientUse(tx, clientId, now)
      const pair = await this.#issue(tx, { tokenId, expiresAt: record.grantExpiresAt }, record)
      return this.#answer(tx, record.grant, pair)
    }
    return [hash, work]
  }

  #refresh(form: URLSearchParams): Redemption {
    const [presented, clientId] = [one(form, 'refresh_token'), one(form, 'client_id')]
    const hash = tokenHash(presented)
    const work = async (tx: Tx) => {
      const now = this.#at()
      const secret = await findOAuthSecret<TokenRecord>(tx, hash, now)
      const grant = secret?.kind === 'refresh' ? await findGrant(tx, secret.tokenId) : null
      const token = grant && (await findToken(tx, grantHash(grant.tokenId)))
      if (!secret || !grant || !token || isExpired(token.expiresAt, now) || grant.clientId !== clientId)
        return unknownSecret.refresh_token
      if (!isFor(form, secret.record)) return otherResource(secret.record)
      // First of all: no other refusal may hide that a token was used twice.
      const pair = await this.#successorOf(tx, presented, secret)
      if (pair === 'stolen') return this.#stolen(tx, grant.tokenId, 'The refresh token was used before.')
      // A client that refreshes after `insufficient_scope`, as the official one does, would get the same scopes again and
      // fail; this answer makes it ask the person.
      if (await takeStepUp(tx, grant.tokenId, timestamp(this.#clock.wallMs() - stepUpMs)))
        return wrong('The agent needs more scopes than it has. Ask the person for them.')
      if (pair !== null) return this.#answer(tx, grant, pair)
      await noteOAuthClientUse(tx, clientId, now)
      const issued = await this.#issue(tx, token, secret.record)
      await takeOAuthSecret(tx, hash, now, sealPair(issued, presented))
      return this.#answer(tx, grant, issued)
    }
    return [hash, work]
  }

  /** The newest pair of a token that was used within the grace; null for one that was not used. */
  async #successorOf(tx: Tx, presented: string, secret: UsableSecret): Promise<TokenPair | 'stolen' | null> {
    const graceBegan = timestamp(this.#clock.wallMs() - graceMs)
    let newest: TokenPair | null = null
    let used: UsableSecret | null = secret
    while (used !== null && used.usedAt !== null) {
      if (used.usedAt <= graceBegan || used.successor === null) return 'stolen'
      newest = openPair(used.successor, newest?.refresh ?? presented)
      used = await findOAuthSecret(tx, tokenHash(newest.refresh), this.#at())
    }
    return newest
  }

  /** A step-up: the new grant takes the place of the old one, whose tokens end. */
  async #endReplaced(tx: Tx, { replaces, grant }: CodeRecord, now: string): Promise<void> {
    const old = replaces == null ? null : await findGrant(tx, replaces)
    const isTheirs = old?.userId === grant.userId && old.clientId === grant.clientId
    if (old && isTheirs && old.endedAt === null) await endGrant(tx, old.tokenId, now)
  }

  async #issue(
    tx: Tx,
    { tokenId, expiresAt }: { tokenId: string; expiresAt: string | null },
    { resource }: TokenRecord,
  ): Promise<TokenPair> {
    const nowMs = this.#clock.wallMs()
    const endMs = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt)
    const issue = async (kind: 'access' | 'refresh', lifeMs: number) => {
      const token = newToken(kind)
      const until = timestamp(Math.min(nowMs + lifeMs, endMs))
      const secret = { hash: tokenHash(token), kind, tokenId, record: { resource }, expiresAt: until }
      await insertOAuthSecret(tx, secret)
      return token
    }
    return { access: await issue('access', accessLifeMs), refresh: await issue('refresh', refreshLifeMs) }
  }

  async #answer(
    tx: Tx,
    { scopes }: Pick<StoredGrant, 'scopes'>,
    { access, refresh }: TokenPair,
  ): Promise<TokenAnswer> {
    const { expiresAt } = (await findOAuthSecret(tx, tokenHash(access), this.#at()))!
    return {
      access_token: access,
      token_type: 'Bearer',
      expires_in: Math.floor((Date.parse(expiresAt) - this.#clock.wallMs()) / 1000),
      refresh_token: refresh,
      scope: scopes.join(' '),
    }
  }

  async #stolen(tx: Tx, tokenId: string, what: string): Promise<OAuthError> {
    await endGrant(tx, tokenId, this.#at())
    return wrong(`${what} All tokens of this sign-in were revoked. Ask the person again.`)
  }

  #at(): string {
    return timestamp(this.#clock.wallMs())
  }
}

function refuseBefore(waitSeconds: number, ofWhat: string): void {
  if (waitSeconds === 0) return
  throw new OAuthError('temporarily_unavailable', `Too many ${ofWhat}. Wait, then try again.`, {
    retryAfterSeconds: Math.ceil(waitSeconds),
  })
}

function wrong(description: string): OAuthError {
  return new OAuthError('invalid_grant', description)
}

const unknownSecret = {
  authorization_code: wrong('The code is unknown or expired. Ask the person again.'),
  refresh_token: wrong('The refresh token is unknown, revoked or expired. Ask the person again.'),
}

function isFor(form: URLSearchParams, { resource }: TokenRecord): boolean {
  return form.getAll('resource').every((named) => namesResource(named, resource))
}

function otherResource({ resource }: TokenRecord): OAuthError {
  return new OAuthError('invalid_target', `This sign-in is for ${resource} only. Ask the person again.`)
}

function one(form: URLSearchParams, name: string): string {
  const [value = '', ...more] = form.getAll(name)
  if (value !== '' && more.length === 0 && value.length <= 2_000) return value
  throw new OAuthError('invalid_request', `${name} must be sent once, with at most 2000 characters.`)
}
