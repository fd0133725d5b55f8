import { isExpired } from '../../domain/access/token-expiry.ts'
import { tokenHash } from '../../domain/access/tokens.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { findTokenOfSession } from '../../store/repositories/console-sessions.ts'
import { findTokenOfSecretRequest } from '../../store/repositories/secret-requests.ts'
import { findToken, type StoredToken } from '../../store/repositories/tokens.ts'

/** A token, the id of a signed-in browser session, or the code of a link of request-secret. */
export type CredentialKind = 'token' | 'session' | 'secret-link'

/** The caller. `principal` names the caller in the audit log and scopes its idempotency keys. */
export type Caller =
  | { kind: 'user'; userId: string; principal: string; token: CallerToken }
  | { kind: 'environment'; appEnvId: string; principal: string; token: CallerToken }

interface CallerToken {
  tokenId: string
  name: string
  /** May call reads only, whatever its owner may. */
  readOnly: boolean
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
  const stored = await storedToken(tx, kind, tokenHash(token), now)
  if (!stored || isExpired(stored.expiresAt, now)) throw unknownToken()
  const { owner, tokenId, name, readOnly, expiresAt } = stored
  const credential = { tokenId, name, readOnly, expiresAt }
  return owner.kind === 'user'
    ? { kind: 'user', userId: owner.userId, principal: owner.userId, token: credential }
    : { kind: 'environment', appEnvId: owner.appEnvId, principal: owner.appEnvId, token: credential }
}

function storedToken(tx: Tx, kind: CredentialKind, hash: string, now: string): Promise<StoredToken | null> {
  if (kind === 'session') return findTokenOfSession(tx, hash)
  return kind === 'secret-link' ? findTokenOfSecretRequest(tx, hash, now) : findToken(tx, hash)
}

/** The same bytes in each case, so that the answer does not tell which tokens existed. */
export function unknownToken(): AppError {
  return new AppError('unauthenticated', 'User not authenticated', {
    details:
      'The token is unknown, revoked or expired. Send another one: create-user-token makes tokens, and the first admin has one in the file admin-token of the data directory.',
  })
}
