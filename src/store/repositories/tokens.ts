import { newId } from '../../domain/ids.ts'
import type { Tx } from '../db.ts'

type TokenOwner = { kind: 'user'; userId: string } | { kind: 'environment'; appEnvId: string }

/** A stored token: only its hash, never the token itself. */
export interface StoredToken {
  tokenId: string
  owner: TokenOwner
  name: string
  /** Cannot write, whatever its owner may do. */
  readOnly: boolean
  createdAt: string
}

export async function findToken(tx: Tx, hash: string): Promise<StoredToken | null> {
  const row = await tx.selectFrom('tokens').selectAll().where('hash', '=', hash).executeTakeFirst()
  return row ? tokenOf(row) : null
}

export async function listTokensOfUser(tx: Tx, userId: string): Promise<StoredToken[]> {
  const rows = await tx
    .selectFrom('tokens')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('token_id')
    .execute()
  return rows.map(tokenOf)
}

function tokenOf(row: {
  kind: 'user' | 'environment'
  user_id: string | null
  app_env_id: string | null
  created_at: string
  token_id: string | null
  name: string
  read_only: number
}): StoredToken {
  return {
    tokenId: row.token_id ?? '',
    owner:
      row.kind === 'user'
        ? { kind: 'user', userId: row.user_id as string }
        : { kind: 'environment', appEnvId: row.app_env_id as string },
    name: row.name,
    readOnly: row.read_only === 1,
    createdAt: row.created_at,
  }
}

/** Stores a token by its hash and returns its id; storing the same hash again changes nothing. */
export async function insertToken(
  tx: Tx,
  hash: string,
  owner: TokenOwner,
  createdAt: string,
  options: { name?: string; readOnly?: boolean } = {},
): Promise<string> {
  const tokenId = newId('tok')
  await tx
    .insertInto('tokens')
    .values({
      hash,
      kind: owner.kind,
      user_id: owner.kind === 'user' ? owner.userId : null,
      app_env_id: owner.kind === 'environment' ? owner.appEnvId : null,
      created_at: createdAt,
      token_id: tokenId,
      name: options.name ?? '',
      read_only: options.readOnly ? 1 : 0,
    })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute()
  return tokenId
}

/** Revokes the token immediately; false if the user has no such token. */
export async function deleteTokenOfUser(tx: Tx, userId: string, tokenId: string): Promise<boolean> {
  const result = await tx
    .deleteFrom('tokens')
    .where('user_id', '=', userId)
    .where('token_id', '=', tokenId)
    .executeTakeFirst()
  return result.numDeletedRows > 0n
}

/** Revokes every token of the environment immediately. */
export async function deleteTokensOfEnvironment(tx: Tx, appEnvId: string): Promise<void> {
  await tx.deleteFrom('tokens').where('app_env_id', '=', appEnvId).execute()
}
