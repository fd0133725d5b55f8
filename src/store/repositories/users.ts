import { sql } from 'kysely'
import { lookOfEmail, normalEmail } from '../../contract/email-address.ts'
import { newId } from '../../domain/ids.ts'
import type { Tx } from '../db.ts'

export interface User {
  userId: string
  email: string
  name: string
}

export async function findUser(tx: Tx, by: { userId: string } | { email: string }): Promise<User | null> {
  const query = tx.selectFrom('users').selectAll()
  const row = await ('userId' in by
    ? query.where('user_id', '=', by.userId)
    : query.where('email', '=', by.email)
  ).executeTakeFirst()
  return row ? { userId: row.user_id, email: row.email, name: row.name } : null
}

/** Users by id, to show names in lists. */
export async function findUsers(tx: Tx, userIds: readonly string[]): Promise<Map<string, User>> {
  if (userIds.length === 0) return new Map()
  const rows = await tx.selectFrom('users').selectAll().where('user_id', 'in', userIds).execute()
  return new Map(rows.map((row) => [row.user_id, { userId: row.user_id, email: row.email, name: row.name }]))
}

/** A user whose address looks like `email` but is another one. */
export async function hasLookAlike(tx: Tx, email: string): Promise<boolean> {
  const look = lookOfEmail(email)
  const others = await tx
    .selectFrom('users')
    .select('email')
    .where('email', '!=', email)
    // Only an address with other letters can look like another one, and few have them.
    .where((row) => row.or([row('email', '=', look), row(sql`octet_length(email)`, '>', sql`length(email)`)]))
    .execute()
  return others.some((other) => lookOfEmail(other.email) === look)
}

export async function insertUser(
  tx: Tx,
  user: { email: string; name: string; createdAt: string },
): Promise<string> {
  const userId = newId('usr')
  await tx
    .insertInto('users')
    .values({ user_id: userId, email: user.email, name: user.name, created_at: user.createdAt })
    .execute()
  return userId
}

interface ListedUser extends User {
  createdAt: string
  accounts: number
  tokens: number
  sessions: number
  passkeys: number
}

/** In the order of their addresses, from the one after `after`. */
export async function listUsersByAddress(
  tx: Tx,
  { search, after, limit }: { search: string | undefined; after: string | undefined; limit: number },
): Promise<ListedUser[]> {
  const countOf = (table: 'memberships' | 'tokens' | 'console_sessions' | 'passkeys') =>
    sql<number>`(select count(*) from ${sql.table(table)} where user_id = users.user_id)`
  let query = tx
    .selectFrom('users')
    .selectAll()
    .select([
      countOf('memberships').as('accounts'),
      countOf('tokens').as('tokens'),
      countOf('console_sessions').as('sessions'),
      countOf('passkeys').as('passkeys'),
    ])
    .orderBy('email')
    .limit(limit)
  if (after !== undefined) query = query.where('email', '>', after)
  if (search !== undefined) {
    const pattern = `%${normalEmail(search).replace(/[\\%_]/g, '\\$&')}%`
    query = query.where(sql<boolean>`email like ${pattern} escape '\\'`)
  }
  const rows = await query.execute()
  return rows.map((row) => ({
    ...{ userId: row.user_id, email: row.email, name: row.name, createdAt: row.created_at },
    ...{ accounts: Number(row.accounts), tokens: Number(row.tokens) },
    ...{ sessions: Number(row.sessions), passkeys: Number(row.passkeys) },
  }))
}

/** Deletes the user with tokens, sessions and links. Memberships, passkeys and identities are deleted before. */
export async function removeUserWithCredentials(tx: Tx, userId: string): Promise<void> {
  const tables = ['tokens', 'console_sessions', 'console_links', 'oauth_grants', 'users'] as const
  for (const table of tables) await tx.deleteFrom(table).where('user_id', '=', userId).execute()
}
