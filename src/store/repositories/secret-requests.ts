import type { Tx } from '../db.ts'
import { findToken, type StoredToken } from './tokens.ts'

interface SecretRequest {
  /** SHA-256 of the code in the link. */
  codeHash: string
  appEnvId: string
  variable: string
  /** The token of the requester. */
  tokenId: string
  expiresAt: string
}

export async function insertSecretRequest(tx: Tx, request: SecretRequest): Promise<void> {
  const { codeHash, appEnvId, variable, tokenId, expiresAt } = request
  const row = {
    code_hash: codeHash,
    app_env_id: appEnvId,
    variable,
    token_id: tokenId,
    expires_at: expiresAt,
  }
  await tx.insertInto('secret_requests').values(row).execute()
}

/** Null if it is unknown, used or expired. */
export async function findSecretRequest(
  tx: Tx,
  codeHash: string,
  now: string,
): Promise<SecretRequest | null> {
  const row = await tx
    .selectFrom('secret_requests')
    .selectAll()
    .where('code_hash', '=', codeHash)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row
    ? {
        codeHash,
        appEnvId: row.app_env_id,
        variable: row.variable,
        tokenId: row.token_id,
        expiresAt: row.expires_at,
      }
    : null
}

/** The token that requested it; null if the token no longer exists, or the request is unknown, used or expired. */
export async function findTokenOfSecretRequest(
  tx: Tx,
  codeHash: string,
  now: string,
): Promise<StoredToken | null> {
  const row = await tx
    .selectFrom('secret_requests')
    .innerJoin('tokens', 'tokens.token_id', 'secret_requests.token_id')
    .select('tokens.hash')
    .where('code_hash', '=', codeHash)
    .where('secret_requests.expires_at', '>', now)
    .executeTakeFirst()
  return row ? findToken(tx, row.hash) : null
}

/** False if it was used meanwhile. */
export async function takeSecretRequest(tx: Tx, codeHash: string): Promise<boolean> {
  const deleted = await tx.deleteFrom('secret_requests').where('code_hash', '=', codeHash).executeTakeFirst()
  return Number(deleted.numDeletedRows) === 1
}

/** Open requests of an environment. */
export async function countSecretRequests(tx: Tx, appEnvId: string, now: string): Promise<number> {
  const { count } = await tx
    .selectFrom('secret_requests')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('app_env_id', '=', appEnvId)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function forgetSecretRequestsBefore(tx: Tx, now: string): Promise<void> {
  await tx.deleteFrom('secret_requests').where('expires_at', '<=', now).execute()
}
