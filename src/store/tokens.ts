import type { Tx } from './db.ts'

export type TokenOwner = { kind: 'user'; userId: string } | { kind: 'environment'; appEnvId: string }

export async function findTokenOwner(tx: Tx, hash: string): Promise<TokenOwner | null> {
  const row = await tx.selectFrom('tokens').selectAll().where('hash', '=', hash).executeTakeFirst()
  if (!row) return null
  return row.kind === 'user'
    ? { kind: 'user', userId: row.user_id as string }
    : { kind: 'environment', appEnvId: row.app_env_id as string }
}

/** Stores a token by its hash; the same hash twice is the same token. */
export async function insertToken(tx: Tx, hash: string, owner: TokenOwner, createdAt: string): Promise<void> {
  await tx
    .insertInto('tokens')
    .values({
      hash,
      kind: owner.kind,
      user_id: owner.kind === 'user' ? owner.userId : null,
      app_env_id: owner.kind === 'environment' ? owner.appEnvId : null,
      created_at: createdAt,
    })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute()
}

/** The owner's tokens are dead at once. */
export async function deleteTokens(tx: Tx, owner: TokenOwner): Promise<void> {
  const query = tx.deleteFrom('tokens')
  await (owner.kind === 'user'
    ? query.where('user_id', '=', owner.userId)
    : query.where('app_env_id', '=', owner.appEnvId)
  ).execute()
}
