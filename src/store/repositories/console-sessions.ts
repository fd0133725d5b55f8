import type { Selectable } from 'kysely'
import type { SignInMethod } from '../../contract/sign-in.ts'
import type { Tables, Tx } from '../db.ts'
import { findToken, type StoredToken } from './tokens.ts'

export interface ConsoleSession {
  /** SHA-256 of the session id; the id itself is only in the browser's cookie. */
  sessionHash: string
  tokenId: string
  userId: string
  createdAt: string
  usedAt: string
  expiresAt: string
  /** Null in sessions of an older version. */
  method: SignInMethod | null
  /** When the person last showed who they are; null: not since an unknown time. */
  provedAt: string | null
  userAgent: string | null
  clientAddress: string | null
}

export async function insertConsoleSession(tx: Tx, session: ConsoleSession): Promise<void> {
  await tx
    .insertInto('console_sessions')
    .values({
      session_hash: session.sessionHash,
      token_id: session.tokenId,
      user_id: session.userId,
      created_at: session.createdAt,
      used_at: session.usedAt,
      expires_at: session.expiresAt,
      signed_in_by: session.method,
      proved_at: session.provedAt,
      user_agent: session.userAgent,
      client_address: session.clientAddress,
    })
    .execute()
}

export async function findConsoleSession(tx: Tx, sessionHash: string): Promise<ConsoleSession | null> {
  const row = await tx
    .selectFrom('console_sessions')
    .selectAll()
    .where('session_hash', '=', sessionHash)
    .executeTakeFirst()
  return row ? sessionOf(row) : null
}

/** Newest first; without those whose token is gone. */
export async function listConsoleSessions(tx: Tx, userId: string): Promise<ConsoleSession[]> {
  const rows = await tx
    .selectFrom('console_sessions')
    .innerJoin('tokens', 'tokens.token_id', 'console_sessions.token_id')
    .selectAll('console_sessions')
    .where('console_sessions.user_id', '=', userId)
    .orderBy('console_sessions.created_at', 'desc')
    .orderBy('session_hash')
    .execute()
  return rows.map(sessionOf)
}

function sessionOf(row: Selectable<Tables['console_sessions']>): ConsoleSession {
  return {
    sessionHash: row.session_hash,
    tokenId: row.token_id,
    userId: row.user_id,
    createdAt: row.created_at,
    usedAt: row.used_at,
    expiresAt: row.expires_at,
    method: row.signed_in_by as SignInMethod | null,
    provedAt: row.proved_at,
    userAgent: row.user_agent,
    clientAddress: row.client_address,
  }
}

/** The name of a session outside the store. Its hash is of 256 random bits, so a part of it reveals nothing. */
export function sessionIdOfHash(sessionHash: string): string {
  return `ses_${sessionHash.slice(0, 24)}`
}

export async function noteSessionUse(tx: Tx, sessionHash: string, usedAt: string): Promise<void> {
  await tx
    .updateTable('console_sessions')
    .set({ used_at: usedAt })
    .where('session_hash', '=', sessionHash)
    .execute()
}

/** The token that opened the session; null if either no longer exists. */
export async function findTokenOfSession(tx: Tx, sessionHash: string): Promise<StoredToken | null> {
  const row = await tx
    .selectFrom('console_sessions')
    .innerJoin('tokens', 'tokens.token_id', 'console_sessions.token_id')
    .select('tokens.hash')
    .where('session_hash', '=', sessionHash)
    .executeTakeFirst()
  return row ? findToken(tx, row.hash) : null
}

export async function deleteConsoleSession(tx: Tx, sessionHash: string): Promise<void> {
  await tx.deleteFrom('console_sessions').where('session_hash', '=', sessionHash).execute()
}

export async function deleteConsoleSessionsOfUser(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom('console_sessions').where('user_id', '=', userId).execute()
}

/** The token that opened a session or made a link. */
type Opener = Pick<ConsoleSession, 'userId' | 'tokenId'>

/** Deletes the sessions that a token opened, except the last used ones. */
export async function keepConsoleSessions(tx: Tx, { userId, tokenId }: Opener, most: number): Promise<void> {
  const sessions = tx.selectFrom('console_sessions').select('session_hash').where('user_id', '=', userId)
  const others = sessions
    .where('token_id', '=', tokenId)
    .orderBy('used_at', 'desc')
    .limit(mostAtOnce)
    .offset(most)
  await tx.deleteFrom('console_sessions').where('session_hash', 'in', others).execute()
}

/** Deletes the links that a token made, except the newest. */
export async function keepConsoleLinks(tx: Tx, { userId, tokenId }: Opener, most: number): Promise<void> {
  const links = tx.selectFrom('console_links').select('code_hash').where('user_id', '=', userId)
  const others = links
    .where('token_id', '=', tokenId)
    .orderBy('expires_at', 'desc')
    .limit(mostAtOnce)
    .offset(most)
  await tx.deleteFrom('console_links').where('code_hash', 'in', others).execute()
}

/** SQLite takes an offset with a limit only. */
const mostAtOnce = 1_000

/** A one-time sign-in link, found by the hash of its code. */
interface ConsoleLink {
  codeHash: string
  tokenId: string
  userId: string
  expiresAt: string
}

export async function insertConsoleLink(tx: Tx, link: ConsoleLink): Promise<void> {
  await tx
    .insertInto('console_links')
    .values({
      code_hash: link.codeHash,
      token_id: link.tokenId,
      user_id: link.userId,
      expires_at: link.expiresAt,
    })
    .execute()
}

export async function hasConsoleLink(tx: Tx, codeHash: string): Promise<boolean> {
  const row = await tx
    .selectFrom('console_links')
    .select('code_hash')
    .where('code_hash', '=', codeHash)
    .executeTakeFirst()
  return row !== undefined
}

/** Deletes the link and returns it, so that only one of two simultaneous sign-ins gets it. */
export async function takeConsoleLink(tx: Tx, codeHash: string): Promise<ConsoleLink | null> {
  const row = await tx
    .deleteFrom('console_links')
    .where('code_hash', '=', codeHash)
    .returningAll()
    .executeTakeFirst()
  if (!row) return null
  return { codeHash, tokenId: row.token_id, userId: row.user_id, expiresAt: row.expires_at }
}

export async function deleteConsoleLinksOfUser(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom('console_links').where('user_id', '=', userId).execute()
}

export async function forgetConsoleSessionsBefore(
  tx: Tx,
  limits: { now: string; idleSince: string },
): Promise<void> {
  await tx.deleteFrom('console_links').where('expires_at', '<=', limits.now).execute()
  await tx
    .deleteFrom('console_sessions')
    .where((row) => row.or([row('expires_at', '<=', limits.now), row('used_at', '<=', limits.idleSince)]))
    .execute()
}
