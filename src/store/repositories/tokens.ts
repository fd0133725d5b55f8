import { z } from 'zod'
import { allScopes, type Scope } from '../../contract/scopes.ts'
import { personAccess, type TokenAccess } from '../../domain/access/agent-limits.ts'
import { isExpired } from '../../domain/access/token-expiry.ts'
import { mostTokensOfUser } from '../../domain/access/tokens.ts'
import { newId } from '../../domain/ids.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

const accessRecord = recordReader<TokenAccess>(
  'tokens',
  null,
  z.object({
    kind: z.enum(['person', 'agent']),
    scopes: z.array(z.enum(allScopes as [Scope, ...Scope[]])).nullable(),
  }),
)

type TokenOwner = { kind: 'user'; userId: string } | { kind: 'environment'; appEnvId: string }

/** A stored token: only its hash, never the token itself. */
export interface StoredToken {
  tokenId: string
  owner: TokenOwner
  name: string
  /** Cannot write, whatever its owner may do. */
  readOnly: boolean
  createdAt: string
  /** Null if it does not expire. */
  expiresAt: string | null
  access: TokenAccess
}

/** Stands for the hash in the row of an agent's grant: no token has this hash. */
export function grantHash(tokenId: string): string {
  return `grant:${tokenId}`
}

/** Stands for the hash in the row of the token that a chat user acts with: no token has this hash. */
export function chatHash(chatUserId: string): string {
  return `chat:${chatUserId}`
}

/** Stands for the hash in the row of the token of a person's sign-ins without a token: no token has this hash. */
function signInHash(userId: string): string {
  return `sign-in:${userId}`
}

/** The token that sessions of a person act with who signed in without one. Revoking it ends them. */
export async function ensureSignInToken(tx: Tx, userId: string, now: string): Promise<string> {
  const known = await findToken(tx, signInHash(userId))
  if (known) return known.tokenId
  return insertToken(tx, signInHash(userId), { kind: 'user', userId }, now, {
    name: 'Sign-in in the browser',
  })
}

export async function findToken(tx: Tx, hash: string): Promise<StoredToken | null> {
  const row = await tx.selectFrom('tokens').selectAll().where('hash', '=', hash).executeTakeFirst()
  return row ? tokenOf(row) : null
}

export async function findTokenById(tx: Tx, tokenId: string): Promise<StoredToken | null> {
  const row = await tx.selectFrom('tokens').selectAll().where('token_id', '=', tokenId).executeTakeFirst()
  return row ? tokenOf(row) : null
}

export async function listTokensOfUser(
  tx: Tx,
  userId: string,
): Promise<(StoredToken & { lastUsedAt: string | null })[]> {
  const rows = await tx
    .selectFrom('tokens')
    .leftJoin('token_uses', 'token_uses.token_id', 'tokens.token_id')
    .selectAll('tokens')
    .select('token_uses.used_at')
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('tokens.token_id')
    .execute()
  return rows.map((row) => ({ ...tokenOf(row), lastUsedAt: row.used_at }))
}

function tokenOf(row: {
  kind: 'user' | 'environment'
  user_id: string | null
  app_env_id: string | null
  created_at: string
  token_id: string | null
  name: string
  read_only: number
  expires_at: string | null
  access: string | null
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
    expiresAt: row.expires_at,
    access: row.access === null ? personAccess : accessRecord.parse(row.access, row.token_id ?? ''),
  }
}

/** Stores a token by its hash and returns its id; storing the same hash again changes nothing. */
export async function insertToken(
  tx: Tx,
  hash: string,
  owner: TokenOwner,
  createdAt: string,
  options: { name?: string; readOnly?: boolean; expiresAt?: string | null; access?: TokenAccess } = {},
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
      expires_at: options.expiresAt ?? null,
      access: options.access ? JSON.stringify(options.access) : null,
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
  if (result.numDeletedRows === 0n) return false
  await tx.deleteFrom('token_uses').where('token_id', '=', tokenId).execute()
  return true
}

/** Revokes a token that the platform made. */
export async function deleteToken(tx: Tx, tokenId: string): Promise<void> {
  for (const table of ['tokens', 'token_uses'] as const)
    await tx.deleteFrom(table).where('token_id', '=', tokenId).execute()
}

/** Whether the user may have one more token. Expired ones stay listed until they must make room. */
export async function makeRoomForToken(tx: Tx, userId: string, now: string): Promise<boolean> {
  const held = await listTokensOfUser(tx, userId)
  if (held.length < mostTokensOfUser) return true
  const expired = held.filter(({ expiresAt }) => isExpired(expiresAt, now))
  for (const { tokenId } of expired) await deleteTokenOfUser(tx, userId, tokenId)
  return held.length - expired.length < mostTokensOfUser
}

/** Revokes every token of the environment immediately. */
export async function deleteTokensOfEnvironment(tx: Tx, appEnvId: string): Promise<void> {
  await tx.deleteFrom('tokens').where('app_env_id', '=', appEnvId).execute()
}

/** Stores when a token was last used; keeps a later time, and ignores a token that was revoked in the meantime. */
export async function noteTokenUse(tx: Tx, tokenId: string, usedAt: string): Promise<void> {
  await tx
    .insertInto('token_uses')
    .columns(['token_id', 'used_at'])
    .expression(
      tx
        .selectFrom('tokens')
        .select((row) => ['token_id', row.val(usedAt).as('used_at')])
        .where('token_id', '=', tokenId),
    )
    .onConflict((conflict) =>
      conflict.column('token_id').doUpdateSet({ used_at: usedAt }).where('token_uses.used_at', '<', usedAt),
    )
    .execute()
}
