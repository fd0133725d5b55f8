import { z } from 'zod'
import { allScopes, type Scope } from '../../contract/scopes.ts'
import type { AgentLimits } from '../../domain/access/agent-limits.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'
import { grantHash } from './tokens.ts'

declare module '../db.ts' {
  interface Tables {
    oauth_grants: {
      token_id: string
      user_id: string
      client_id: string
      record: string
      /** Issuer, subject and client of an external authorization server; null for grants of the embedded one. */
      subject: string | null
      ended_at: string | null
      /** Only of grants of the embedded server. */
      step_up_at: string | null
      /** JSON of `Wanted`. */
      wanted: string | null
    }
    oauth_secrets: {
      /** SHA-256 of the secret that the client presents. */
      hash: string
      kind: SecretKind
      token_id: string
      record: string
      expires_at: string
      used_at: string | null
      /** The pair that followed a used refresh token, sealed with it. */
      successor: string | null
    }
  }
}

type SecretKind = 'code' | 'access' | 'refresh'

/** The access that a person gave a client. */
interface Grant {
  clientName: string
  /** Host of the client's identity document or of its redirect address. */
  clientHost: string
  scopes: Scope[]
  limits: AgentLimits
  /** When an external server issued the latest token by its own clock, which may be ahead. Absent in other grants. */
  issuedAt?: string
}

export interface StoredGrant extends Grant {
  tokenId: string
  userId: string
  clientId: string
  endedAt: string | null
}

const grantRecord = recordReader<Grant>(
  'oauth_grants',
  null,
  z.object({ clientName: z.string(), scopes: z.array(z.enum(allScopes as [Scope, ...Scope[]])) }),
)

/** The record behind a secret; its shape depends on the kind, and the authorization server checks it. */
const secretRecord = recordReader<unknown>('oauth_secrets', null, z.looseObject({}).nullable())

type Row = { token_id: string; user_id: string; client_id: string; record: string; ended_at: string | null }

function grantOf(row: Row): StoredGrant {
  const { token_id: tokenId, user_id: userId, client_id: clientId, ended_at: endedAt } = row
  return { ...grantRecord.parse(row.record, tokenId), tokenId, userId, clientId, endedAt }
}

type NewGrant = Omit<StoredGrant, 'endedAt'>

/** Stores a grant as a token that no request can present; the client presents the grant's secrets instead. */
export async function insertGrant(
  tx: Tx,
  grant: NewGrant,
  { now, expiresAt, subject = null }: { now: string; expiresAt: string | null; subject?: string | null },
): Promise<void> {
  await tx
    .insertInto('tokens')
    .values(tokenRowOf(grant, now, expiresAt))
    .execute()
  await tx
    .insertInto('oauth_grants')
    .values({
      token_id: grant.tokenId,
      user_id: grant.userId,
      client_id: grant.clientId,
      record: recordOf(grant),
      subject,
      ended_at: null,
      step_up_at: null,
      wanted: null,
    })
    .execute()
}

/**
 * Stores the current grant of an external authorization server, also after it was ended. The time of that end stays,
 * because tokens that were issued before it remain invalid.
 */
export async function renewGrant(
  tx: Tx,
  grant: NewGrant,
  { now, expiresAt }: { now: string; expiresAt: string },
): Promise<void> {
  const { hash, created_at: _, ...row } = tokenRowOf(grant, now, expiresAt)
  await tx
    .insertInto('tokens')
    .values({ ...row, hash, created_at: now })
    .onConflict((conflict) => conflict.column('hash').doUpdateSet(row))
    .execute()
  await tx
    .updateTable('oauth_grants')
    .set({ user_id: grant.userId, record: recordOf(grant) })
    .where('token_id', '=', grant.tokenId)
    .execute()
}

function recordOf({ clientName, clientHost, scopes, limits, issuedAt }: NewGrant): string {
  return JSON.stringify({
    clientName,
    clientHost,
    scopes,
    limits,
    ...(issuedAt && { issuedAt }),
  } satisfies Grant)
}

function tokenRowOf(
  { tokenId, userId, clientName, limits }: NewGrant,
  now: string,
  expiresAt: string | null,
) {
  return {
    hash: grantHash(tokenId),
    kind: 'user' as const,
    user_id: userId,
    app_env_id: null,
    created_at: now,
    token_id: tokenId,
    name: clientName,
    read_only: limits.readOnly ? 1 : 0,
    expires_at: expiresAt,
    access: null,
  }
}

/** The grant of an external authorization server; `expiresAt` is null if it was ended. */
export async function findGrantOfSubject(
  tx: Tx,
  subject: string,
): Promise<(StoredGrant & { expiresAt: string | null }) | null> {
  const row = await tx
    .selectFrom('oauth_grants')
    .leftJoin('tokens', 'tokens.token_id', 'oauth_grants.token_id')
    .selectAll('oauth_grants')
    .select('tokens.expires_at')
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row ? { ...grantOf(row), expiresAt: row.expires_at } : null
}

export async function findGrant(tx: Tx, tokenId: string): Promise<StoredGrant | null> {
  const row = await tx
    .selectFrom('oauth_grants')
    .selectAll()
    .where('token_id', '=', tokenId)
    .executeTakeFirst()
  return row ? grantOf(row) : null
}

/** Grants by the ids of their tokens, also ended ones. */
export async function findGrants(tx: Tx, tokenIds: readonly string[]): Promise<Map<string, StoredGrant>> {
  if (tokenIds.length === 0) return new Map()
  const rows = await tx.selectFrom('oauth_grants').selectAll().where('token_id', 'in', tokenIds).execute()
  return new Map(rows.map((row) => [row.token_id, grantOf(row)]))
}

/** Ends a grant and everything that was issued for it; the row stays for the audit log. Ignores other tokens. */
export async function endGrant(tx: Tx, tokenId: string, now: string): Promise<void> {
  const { issuedAt = now } = (await findGrant(tx, tokenId)) ?? {}
  const endedAt = issuedAt > now ? issuedAt : now
  await tx.deleteFrom('tokens').where('hash', '=', grantHash(tokenId)).execute()
  await tx.deleteFrom('oauth_secrets').where('token_id', '=', tokenId).execute()
  await tx.updateTable('oauth_grants').set({ ended_at: endedAt }).where('token_id', '=', tokenId).execute()
}

/** The scopes that a call of an agent needed beyond its own, with those that it has. */
interface Wanted {
  at: string
  scopes: readonly Scope[]
}

/** Notes that the agent needs more scopes than it has. */
export async function noteStepUp(tx: Tx, tokenId: string, wanted: Wanted): Promise<void> {
  await tx
    .updateTable('oauth_grants')
    .set({ step_up_at: wanted.at, wanted: JSON.stringify(wanted) })
    .where('token_id', '=', tokenId)
    .execute()
}

/** The grants of one person and client that have not ended, the newest first. */
export async function listGrantsOfClient(
  tx: Tx,
  { userId, clientId, now }: { userId: string; clientId: string; now: string },
): Promise<(StoredGrant & { expiresAt: string | null; wanted: Wanted | null })[]> {
  const rows = await tx
    .selectFrom('oauth_grants')
    .innerJoin('tokens', 'tokens.token_id', 'oauth_grants.token_id')
    .selectAll('oauth_grants')
    .select('tokens.expires_at')
    .where('oauth_grants.user_id', '=', userId)
    .where('client_id', '=', clientId)
    .where('ended_at', 'is', null)
    .where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', now)]))
    .orderBy('tokens.created_at', 'desc')
    .orderBy('tokens.token_id')
    .execute()
  return rows.map((row) => ({
    ...grantOf(row),
    expiresAt: row.expires_at,
    wanted: row.wanted === null ? null : (secretRecord.parse(row.wanted, row.token_id) as Wanted),
  }))
}

/** Whether that happened after `since`; true once. */
export async function takeStepUp(tx: Tx, tokenId: string, since: string): Promise<boolean> {
  const taken = await tx
    .updateTable('oauth_grants')
    .set({ step_up_at: null })
    .where('token_id', '=', tokenId)
    .where('step_up_at', '>', since)
    .executeTakeFirst()
  return Number(taken.numUpdatedRows) === 1
}

/** A code, access token or refresh token, found by its hash. */
interface OAuthSecret<T = unknown> {
  hash: string
  kind: SecretKind
  tokenId: string
  record: T
  expiresAt: string
}

export async function insertOAuthSecret(tx: Tx, secret: OAuthSecret): Promise<void> {
  await tx
    .insertInto('oauth_secrets')
    .values({
      hash: secret.hash,
      kind: secret.kind,
      token_id: secret.tokenId,
      record: JSON.stringify(secret.record ?? null),
      expires_at: secret.expiresAt,
      used_at: null,
      successor: null,
    })
    .execute()
}

/** Null if it is unknown or expired; `usedAt` and `successor` are set for one that was taken before. */
export async function findOAuthSecret<T>(
  tx: Tx,
  hash: string,
  now: string,
): Promise<(OAuthSecret<T> & { usedAt: string | null; successor: string | null }) | null> {
  const row = await tx
    .selectFrom('oauth_secrets')
    .selectAll()
    .where('hash', '=', hash)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  if (!row) return null
  const { kind, token_id: tokenId, expires_at: expiresAt, used_at: usedAt, successor } = row
  return { hash, kind, tokenId, record: secretRecord.parse(row.record) as T, expiresAt, usedAt, successor }
}

/** Marks it as used; false if it was used meanwhile. The row stays, so that a second use is detected. */
export async function takeOAuthSecret(
  tx: Tx,
  hash: string,
  now: string,
  successor: string | null = null,
): Promise<boolean> {
  const taken = await tx
    .updateTable('oauth_secrets')
    .set({ used_at: now, successor })
    .where('hash', '=', hash)
    .where('used_at', 'is', null)
    .executeTakeFirst()
  return Number(taken.numUpdatedRows) === 1
}

export async function forgetOAuthSecretsBefore(tx: Tx, now: string): Promise<void> {
  await tx.deleteFrom('oauth_secrets').where('expires_at', '<=', now).execute()
}
