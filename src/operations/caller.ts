import { tokenHash } from '../domain/tokens.ts'
import { AppError } from '../errors.ts'
import type { Tx } from '../store/db.ts'
import { findToken } from '../store/tokens.ts'

/** Who calls. `principal` names it in the journal and scopes its idempotency keys. */
export type Caller =
  | { kind: 'user'; userId: string; principal: string; token: CallerToken }
  | { kind: 'environment'; appEnvId: string; principal: string; token: CallerToken }

export interface CallerToken {
  tokenId: string
  name: string
  /** May call reads only, whatever its owner may. */
  readOnly: boolean
}

/** A1, A5: looked up on every request, so a revoked token is dead on the next one. */
export async function callerOf(tx: Tx, token: string | null): Promise<Caller> {
  if (!token) {
    throw new AppError('unauthenticated', 'User not authenticated', {
      details: 'Send a token in the Authorization header.',
    })
  }
  const stored = await findToken(tx, tokenHash(token))
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
