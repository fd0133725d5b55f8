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
}

/**
 * A1, A5: looked up on every request, so a revoked token fails on the next one, and so do the console sessions that
 * it opened. `session`: `token` is the id of such a session.
 */
export async function callerOf(tx: Tx, token: string | null, session = false): Promise<Caller> {
  if (!token) {
    throw new AppError('unauthenticated', 'User not authenticated', {
      details: 'Send a token in the Authorization header.',
    })
  }
  const find = session ? findTokenOfSession : findToken
  const stored = await find(tx, tokenHash(token))
  if (!stored) {
    throw new AppError('unauthenticated', 'User not authenticated', {
      details: 'The token is unknown or revoked.',
    })
  }
  const { owner, tokenId, name, readOnly } = stored
  return owner.kind === 'user'
    ? { kind: 'user', userId: owner.userId, principal: owner.userId, token: { tokenId, name, readOnly } }
    : {
        kind: 'environment',
        appEnvId: owner.appEnvId,
        principal: owner.appEnvId,
        token: { tokenId, name, readOnly },
      }
}
