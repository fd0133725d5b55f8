import { type Scope, scopesIn } from '../../contract/scopes.ts'
import type { AgentScope } from '../../domain/access/agent-limits.ts'
import { isExpired } from '../../domain/access/token-expiry.ts'
import { tokenHash } from '../../domain/access/tokens.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { findTokenOfSession } from '../../store/repositories/console-sessions.ts'
import { findGrant } from '../../store/repositories/oauth-grants.ts'
import { findTokenOfSecretRequest } from '../../store/repositories/secret-requests.ts'
import { findToken, grantHash, type StoredToken } from '../../store/repositories/tokens.ts'

/**
 * A token, the id of a signed-in browser session, the code of a link of request-secret, or a grant (`grantText`): this
 * program checked the access token and never takes the grant from a caller.
 */
export type CredentialKind = 'token' | 'session' | 'secret-link' | 'grant'

/** The grant and scopes of an access token. Those in the row of the grant do not count: other tokens change them. */
export interface PresentedGrant {
  tokenId: string
  scopes: readonly Scope[]
}

export function grantText({ tokenId, scopes }: PresentedGrant): string {
  return [tokenId, ...scopes].join('.')
}

export function grantIn(text: string): PresentedGrant {
  const [tokenId = '', ...scopes] = text.split('.')
  return { tokenId, scopes: scopesIn(scopes.join(' ')) }
}

/** The caller. `principal` names the caller in the audit log and scopes its idempotency keys. */
export type Caller =
  | { kind: 'user'; userId: string; principal: string; token: CallerToken }
  | { kind: 'environment'; appEnvId: string; principal: string; token: CallerToken }

interface CallerToken {
  tokenId: string
  name: string
  /** May call reads only, whatever its owner may. */
  readOnly: boolean
  /** Scopes of an agent that signed in with OAuth; null for other tokens, which may do what their owner may. */
  scopes: readonly Scope[] | null
  /** Limits that a person set for an agent; null for other tokens. */
  scope: AgentScope | null
  /** Null if it does not expire. */
  expiresAt: string | null
}

/**
 * A1, A5: looked up on every request, so a revoked or expired token fails on the next one, and so do the console
 * sessions that it opened and the links that it made.
 */
export async function callerOf(
  tx: Tx,
  { token, credential: kind = 'token' }: { token: string | null; credential?: CredentialKind | undefined },
  now: string,
): Promise<Caller> {
  if (!token) {
    throw new AppError('unauthenticated', 'User not authenticated', {
      details: 'Send a token in the Authorization header.',
    })
  }
  const presented = kind === 'grant' ? grantIn(token) : null
  const grant = presented && (await findGrant(tx, presented.tokenId))
  const scopes = presented?.scopes ?? null
  const hash = grant ? grantHash(grant.tokenId) : tokenHash(token)
  const stored = await storedToken(tx, kind, hash, now)
  if (!stored || isExpired(stored.expiresAt, now)) throw unknownToken()
  const { owner, tokenId, name, readOnly, expiresAt } = stored
  const credential = {
    tokenId,
    name,
    // The row of a grant has the value of the access token that was used last.
    readOnly: readOnly && (scopes ?? []).every((one) => one === 'environments:read'),
    expiresAt,
    scopes,
    scope: grant?.limits.pin ?? null,
  }
  return owner.kind === 'user'
    ? { kind: 'user', userId: owner.userId, principal: owner.userId, token: credential }
    : { kind: 'environment', appEnvId: owner.appEnvId, principal: owner.appEnvId, token: credential }
}

function storedToken(tx: Tx, kind: CredentialKind, hash: string, now: string): Promise<StoredToken | null> {
  if (kind === 'session') return findTokenOfSession(tx, hash)
  return kind === 'secret-link' ? findTokenOfSecretRequest(tx, hash, now) : findToken(tx, hash)
}

/** The same bytes in each case, so that the answer does not reveal which tokens existed. */
export function unknownToken(): AppError {
  return new AppError('unauthenticated', 'User not authenticated', {
    details:
      'The token is unknown, revoked or expired. Send another one: create-user-token makes tokens, and the first admin has one in the file admin-token of the data directory.',
  })
}
