import { tokenHash } from '../domain/tokens.ts'
import { AppError } from '../errors.ts'
import type { Tx } from '../store/db.ts'
import { findTokenOwner } from '../store/tokens.ts'

/** Who calls. `principal` names it in the journal and scopes its idempotency keys. */
export type Caller =
  | { kind: 'user'; userId: string; principal: string }
  | { kind: 'environment'; appEnvId: string; principal: string }

/** A1, A5: looked up on every request, so a revoked token is dead on the next one. */
export async function callerOf(tx: Tx, token: string | null): Promise<Caller> {
  if (!token) {
    throw new AppError('unauthenticated', 'Not authenticated', {
      details: 'Send a token in the Authorization header.',
    })
  }
  const owner = await findTokenOwner(tx, tokenHash(token))
  if (!owner) {
    throw new AppError('unauthenticated', 'Not authenticated', {
      details: 'The token is unknown or revoked.',
    })
  }
  return owner.kind === 'user'
    ? { kind: 'user', userId: owner.userId, principal: owner.userId }
    : { kind: 'environment', appEnvId: owner.appEnvId, principal: owner.appEnvId }
}
