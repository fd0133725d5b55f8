import type { Surface } from '../../contract/audit.ts'
import type { CallerKind } from '../../contract/caller-kinds.ts'
import { type Scope, scopesIn } from '../../contract/scopes.ts'
import type { SignInMethod } from '../../contract/sign-in.ts'
import { type AgentScope, levelOf, personAccess, type TokenAccess } from '../../domain/access/agent-limits.ts'
import { isExpired } from '../../domain/access/token-expiry.ts'
import { tokenHash } from '../../domain/access/tokens.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { findApprovalLink } from '../../store/repositories/approval-links.ts'
import {
  findConsoleSession,
  findTokenOfSession,
  sessionIdOfHash,
} from '../../store/repositories/console-sessions.ts'
import { findGrant, type StoredGrant } from '../../store/repositories/oauth-grants.ts'
import { findTokenOfSecretRequest } from '../../store/repositories/secret-requests.ts'
import {
  chatHash,
  findToken,
  findTokenById,
  grantHash,
  type StoredToken,
} from '../../store/repositories/tokens.ts'

/**
 * A token, the id of a signed-in browser session, the code of a link of request-secret, a grant (`grantText`), or the id of a
 * chat user or of a link of an approval. This program checked the last three itself and never takes them from a caller.
 */
export type CredentialKind = 'token' | 'session' | 'secret-link' | 'approval-link' | 'grant' | 'chat'

/** The grant and scopes of an access token. Those in the row of the grant do not count: other tokens change them. */
export interface PresentedGrant {
  tokenId: string
  scopes: readonly Scope[]
}

export function grantText({ tokenId, scopes }: PresentedGrant): string {
  return [tokenId, ...scopes].join('.')
}

export function grantIn(text: string): PresentedGrant {
  const [tokenId = '', ...scopes] = text.split('.')
  return { tokenId, scopes: scopesIn(scopes.join(' ')) }
}

/**
 * The caller. `principal` names the caller in the audit log and scopes its idempotency keys. `kind` is the owner of the
 * token, `actor` who acts with it.
 */
export type Caller =
  | {
      kind: 'user'
      userId: string
      principal: string
      actor: CallerKind
      token: CallerToken
      session?: CallerSession | null
    }
  | {
      kind: 'environment'
      appEnvId: string
      principal: string
      actor: CallerKind
      token: CallerToken
      session?: null
    }

/** The console session of a call; null for other credentials. */
interface CallerSession {
  sessionId: string
  method: SignInMethod | null
  provedAt: string | null
}

interface CallerToken {
  tokenId: string
  name: string
  /** May call reads only, whatever its owner may. */
  readOnly: boolean
  /** Null: the token may do what its owner may. */
  scopes: readonly Scope[] | null
  /** The only objects that it reaches; null: all of its owner's. */
  scope: AgentScope | null
  /** The agent's name, from its sign-in or the label of its token: a person saw it. Null: no person named it. */
  agent: string | null
  access: TokenAccess
  /** Null if it does not expire. */
  expiresAt: string | null
}

/** The caller of a read that the platform makes for an environment. */
export function environmentItself(appEnvId: string): Caller {
  const none = { scopes: null, scope: null, expiresAt: null, agent: null }
  const token = { tokenId: '', name: 'Longshore', readOnly: true, access: personAccess, ...none }
  return { kind: 'environment', actor: 'environment', appEnvId, principal: appEnvId, token }
}

/** A run of a remediation: it acts with the current rights of its user. */
export function remediationCaller(userId: string, runId: string): Caller {
  const none = { scopes: null, scope: null, expiresAt: null, agent: null }
  const access: TokenAccess = { ...personAccess, remediation: { runId, operations: null } }
  const token = { tokenId: '', name: 'Longshore', readOnly: false, access, ...none }
  return { kind: 'user', actor: 'remediation', userId, principal: userId, token }
}

/**
 * A1, A5: looked up on every request, so a revoked or expired token fails on the next one, and so do the console
 * sessions that it opened and the links that it made.
 */
export async function callerOf(
  tx: Tx,
  { token, credential: kind = 'token', surface }: Presented,
  now: string,
): Promise<Caller> {
  if (!token) {
    throw new AppError('unauthenticated', 'User not authenticated', {
      details: 'Send a token in the Authorization header.',
    })
  }
  const presented = kind === 'grant' ? grantIn(token) : null
  const grant = presented && (await findGrant(tx, presented.tokenId))
  const hash = grant ? grantHash(grant.tokenId) : kind === 'chat' ? chatHash(token) : tokenHash(token)
  const stored =
    kind === 'approval-link' ? await tokenOfLink(tx, token) : await storedToken(tx, kind, hash, now)
  if (!stored || isExpired(stored.expiresAt, now)) throw unknownToken()
  const access = grant ? accessOfGrant(grant, presented!.scopes) : stored.access
  // The row of a grant has the value of the access token that was used last.
  const readOnly = stored.readOnly && (!grant || access.scopes!.every((one) => one === 'environments:read'))
  const credential = credentialOf({ ...stored, readOnly }, access)
  const owner = ownerOf(stored)
  const acting = {
    ...actsAs(owner.kind === 'user' ? 'person' : 'environment', access, surface),
    token: credential,
  }
  return kind === 'session' && owner.kind === 'user'
    ? { ...owner, ...acting, session: await callerSession(tx, hash) }
    : { ...owner, ...acting }
}

async function callerSession(tx: Tx, hash: string): Promise<CallerSession | null> {
  const session = await findConsoleSession(tx, hash)
  if (!session) return null
  const { method, provedAt } = session
  return { sessionId: sessionIdOfHash(hash), method, provedAt }
}

function ownerOf({ owner }: StoredToken) {
  return owner.kind === 'user'
    ? { kind: 'user' as const, userId: owner.userId, principal: owner.userId }
    : { kind: 'environment' as const, appEnvId: owner.appEnvId, principal: owner.appEnvId }
}

/** A credential as a request presents it. `surface` is what the request claims: that of agents only narrows. */
interface Presented {
  token: string | null
  credential?: CredentialKind | undefined
  surface?: Surface | undefined
}

/** The one place that decides who acts: a request can claim to be an agent's, never to be a person's. */
function actsAs(
  owner: 'person' | 'environment',
  { kind }: TokenAccess,
  surface: Surface | undefined,
): { actor: CallerKind } {
  return { actor: kind === 'agent' || surface === 'mcp' ? 'agent' : owner }
}

/** The access of an agent that signed in with OAuth, in the same form as that of a token. */
export function accessOfGrant(
  { clientName, limits }: StoredGrant,
  scopes: readonly Scope[] | null,
): TokenAccess {
  const { groups, pin } = limits
  return { kind: 'agent', label: clientName, scopes, groups, pin, mayPropose: true }
}

function credentialOf({ tokenId, name, readOnly, expiresAt }: StoredToken, access: TokenAccess): CallerToken {
  const { kind, label, scopes, pin } = access
  return {
    tokenId,
    name,
    readOnly,
    expiresAt,
    scopes,
    scope: levelOf(pin) === null ? null : pin,
    agent: kind === 'agent' ? label : null,
    access,
  }
}

function storedToken(tx: Tx, kind: CredentialKind, hash: string, now: string): Promise<StoredToken | null> {
  if (kind === 'session') return findTokenOfSession(tx, hash)
  return kind === 'secret-link' ? findTokenOfSecretRequest(tx, hash, now) : findToken(tx, hash)
}

/** The person of a link, who decides over its approval and nothing else (approvals/decision-links.ts). */
async function tokenOfLink(tx: Tx, linkId: string): Promise<StoredToken | null> {
  const link = await findApprovalLink(tx, linkId)
  if (!link) return null
  const { userId, expiresAt } = link
  const owner = { kind: 'user', userId } as const
  const facts = { tokenId: '', name: 'Link of an approval', readOnly: false, createdAt: expiresAt }
  return { ...facts, owner, expiresAt, access: personAccess }
}

/**
 * The caller behind a token, for calls that run later in its name. Null if it was revoked or has expired since. `actor`: who
 * acted with it then.
 */
export async function callerOfToken(
  tx: Tx,
  { tokenId, actor }: { tokenId: string; actor: CallerKind },
  now: string,
): Promise<Caller | null> {
  const stored = await findTokenById(tx, tokenId)
  if (!stored || isExpired(stored.expiresAt, now)) return null
  const grant = await findGrant(tx, tokenId)
  const access = grant ? accessOfGrant(grant, grant.scopes) : stored.access
  return { ...ownerOf(stored), actor, token: credentialOf(stored, access) }
}

/** The same bytes in each case, so that the answer does not reveal which tokens existed. */
export function unknownToken(): AppError {
  return new AppError('unauthenticated', 'User not authenticated', {
    details:
      'The token is unknown, revoked or expired. Send another one: create-user-token makes tokens, and the first admin has one in the file admin-token of the data directory.',
  })
}
