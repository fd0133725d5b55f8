import { isExpired } from '../../domain/access/token-expiry.ts'
import { tokenHash } from '../../domain/access/tokens.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { findTokenOfSession } from '../../store/repositories/console-sessions.ts'
import { findToken } from '../../store/repositories/tokens.ts'

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
 * sessions that it opened. `session`: `token` is the id of such a session.
 */
export async function callerOf(
  tx: Tx,
  { token, session = false }: { token: string | null; session?: boolean | undefined },
  now: string,
): Promise<Caller> {
  if (!token) {
    throw new AppError('unauthenticated', 'User not authenticated', {
      details: 'Send a token in the Authorization header.',
    })
  }
  const find = session ? findTokenOfSession : findToken
  const stored = await find(tx, tokenHash(token))
  if (!stored || isExpired(stored.expiresAt, now)) throw unknownToken()
  const { owner, tokenId, name, readOnly, expiresAt } = stored
  const credential = { tokenId, name, readOnly, expiresAt }
  return owner.kind === 'user'
    ? { kind: 'user', userId: owner.userId, principal: owner.userId, token: credential }
    : { kind: 'environment', appEnvId: owner.appEnvId, principal: owner.appEnvId, token: credential }
}

/** The same bytes in each case, so that the answer does not tell which tokens existed. */
export function unknownToken(): AppError {
  return new AppError('unauthenticated', 'User not authenticated', {
    details:
      'The token is unknown, revoked or expired. Send another one: create-user-token makes tokens, and the first admin has one in the file admin-token of the data directory.',
  })
}
