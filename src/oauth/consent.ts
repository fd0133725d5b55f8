import { type Clock, timestamp } from '../clock.ts'
import type { Consent, ConsentAnswer, ConsentDecision, EarlierGrant } from '../contract/consent.ts'
import type { Scope } from '../contract/scopes.ts'
import { scopesWithin } from '../domain/access/agent-limits.ts'
import type { OAuthClient } from '../domain/access/oauth-client.ts'
import { expiryOf } from '../domain/access/token-expiry.ts'
import { mostTokensOfUser, newToken, tokenHash } from '../domain/access/tokens.ts'
import { newId } from '../domain/ids.ts'
import { AppError } from '../errors.ts'
import { type Caller, callerOf } from '../operations/core/caller.ts'
import { RateLimit, rateLimited } from '../operations/core/rate-limit.ts'
import { requireProof } from '../operations/core/second-step.ts'
import type { Db, Tx } from '../store/db.ts'
import { insertAuditEntry } from '../store/repositories/audit.ts'
import { insertOAuthSecret } from '../store/repositories/oauth-grants.ts'
import { makeRoomForToken } from '../store/repositories/tokens.ts'
import { findUser } from '../store/repositories/users.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'
import type { OAuthAddresses } from './addresses.ts'
import {
  type AuthorizationRequest,
  answerAddress,
  type ReturnAddress,
  readAuthorizationRequest,
  returnAddressOf,
} from './authorization-request.ts'
import type { OAuthClients } from './clients.ts'
import { earlierGrantOf, grantedAccess } from './earlier-grant.ts'
import { OAuthError } from './oauth-error.ts'
import type { CodeRecord } from './token-endpoint.ts'

const codeLifeMs = 60_000
/** Approvals of one person, each of which stores a code and an audit entry. */
const approvals = { perSecond: 0.2, burst: 20 }

interface ConsentDeps {
  db: Db
  clock: Clock
  secrets: SecretBox
  clients: OAuthClients
}

/** The request of a client as the browser brought it, and the session of the person. */
interface ConsentRequest {
  query: URLSearchParams
  sessionId: string
  addresses: OAuthAddresses
}

type Loaded = { to: ReturnAddress; caller: UserCaller } & (
  | { request: AuthorizationRequest }
  | { problem: OAuthError }
)
type UserCaller = Extract<Caller, { kind: 'user' }>

/** The decision of a person about the request of a client. Only a console session may decide, never a token. */
export class ConsentService {
  readonly #deps: ConsentDeps
  readonly #approvals: RateLimit

  constructor(deps: ConsentDeps) {
    this.#deps = deps
    this.#approvals = new RateLimit(approvals, deps.clock)
  }

  /** The content of the consent page. A request that cannot be granted is answered at once, at the client's own address. */
  async describe(request: ConsentRequest): Promise<Consent> {
    const loaded = await this.#load(request)
    if ('problem' in loaded) {
      const redirectTo = refusal(loaded.to, request.addresses, loaded.problem)
      return { redirectTo, returnsTo: placeOf(redirectTo) }
    }
    const { client, redirectUri, scopes } = loaded.request
    const { readOnly, expiresAt } = loaded.caller.token
    const { email, earlier } = await this.#deps.db.read(async (tx) => ({
      email: (await findUser(tx, loaded.caller))!.email,
      earlier: await this.#earlier(tx, loaded.caller, loaded.request),
    }))
    return {
      client: { clientId: client.clientId, name: client.name, verifiedHost: documentHost(client) },
      returnsTo: placeOf(redirectUri),
      email,
      scopes: scopesWithin(scopes, { readOnly }),
      readOnly,
      expiresAt,
      earlier,
    }
  }

  #earlier(tx: Tx, { userId }: UserCaller, { client, scopes }: AuthorizationRequest) {
    const now = timestamp(this.#deps.clock.wallMs())
    return earlierGrantOf(tx, { userId, clientId: client.clientId, scopes, now })
  }

  async decide(request: ConsentRequest, decision: ConsentDecision): Promise<ConsentAnswer> {
    const loaded = await this.#load(request)
    const { to } = loaded
    await this.#requirePerson(loaded.caller, decision)
    if ('problem' in loaded) return { redirectTo: refusal(to, request.addresses, loaded.problem) }
    if (!decision.approve) {
      const denied = new OAuthError('access_denied', 'The person did not agree.')
      return { redirectTo: refusal(to, request.addresses, denied) }
    }
    const wait = this.#approvals.take(loaded.caller.userId)
    if (wait > 0) throw rateLimited(wait)
    const code = newToken('code')
    await this.#deps.db.write((tx) =>
      this.#record(tx, { ...request, code, decision, wanted: loaded.request }),
    )
    return { redirectTo: answerAddress(to, request.addresses.issuer, { code }) }
  }

  async #requirePerson(caller: { userId: string }, { email }: ConsentDecision): Promise<void> {
    if (email === undefined) return
    const user = await this.#deps.db.read((tx) => findUser(tx, caller))
    if (email === user?.email) return
    throw new AppError('conflict', 'Another person has signed in', {
      details: `This page was for ${email}. Load it again to decide as ${user?.email}.`,
    })
  }

  async #load({ query, sessionId, addresses }: ConsentRequest): Promise<Loaded> {
    const { db, clients } = this.#deps
    const caller = await db.read((tx) => this.#person(tx, sessionId))
    const to = await returnAddressOf(query, (clientId) => clients.find(clientId, caller.userId))
    try {
      return { to, caller, request: readAuthorizationRequest(query, to, addresses) }
    } catch (error) {
      if (error instanceof OAuthError) return { to, caller, problem: error }
      throw error
    }
  }

  /** Stores the code with the granted access, and the audit entry. */
  async #record(
    tx: Tx,
    {
      sessionId,
      addresses,
      code,
      decision,
      wanted,
    }: ConsentRequest & { code: string; decision: ConsentDecision; wanted: AuthorizationRequest },
  ): Promise<void> {
    const { clock, secrets } = this.#deps
    const now = timestamp(clock.wallMs())
    const caller = await this.#person(tx, sessionId)
    const installation = { adminTokenHash: () => null }
    await requireProof(tx, { caller, call: { credential: 'session' }, target: {}, now, installation })
    const { userId, token } = caller
    const earlier = await this.#earlier(tx, caller, wanted)
    const replaced = earlier?.isReplaced ? earlier : null
    requireSameReplaced(decision, replaced)
    const granted = grantedAccess(decision, { wanted: wanted.scopes, replaced, readOnly: token.readOnly })
    const { scopes, limits } = granted
    await checkRoom(tx, { userId, scopes, now, replaces: replaced !== null })
    const { client, redirectUri, challenge } = wanted
    const { clientId, name: clientName } = client
    const clientHost = documentHost(client) ?? placeOf(redirectUri)
    const expiry = { now, creatorExpiresAt: token.expiresAt }
    const record: CodeRecord = {
      grant: { userId, clientId, clientName, clientHost, scopes, limits },
      grantExpiresAt: expiryOf(granted.expiresAt ?? undefined, expiry),
      redirectUri,
      challenge,
      resource: addresses.resource,
      replaces: replaced?.tokenId ?? null,
    }
    const tokenId = newId('tok')
    const expiresAt = timestamp(clock.wallMs() + codeLifeMs)
    await insertOAuthSecret(tx, { hash: tokenHash(code), kind: 'code', tokenId, record, expiresAt })
    await insertAuditEntry(
      tx,
      {
        ...{ at: now, accountId: null, principal: userId, surface: 'console' },
        ...{
          sessionId: null,
          traceId: null,
          agent: null,
          confirmedBy: null,
          chat: null,
          undid: null,
          impact: null,
        },
        ...{ approvalId: null, remediationRunId: null, clientAddress: null },
        tokenId: token.tokenId,
        operation: 'authorize-client',
        objectType: 'token',
        objectId: tokenId,
        outcome: 'done',
        before: replaced && { ...shownInAudit(replaced), clientId, clientName },
        after: { tokenId, clientId, clientName, scopes, limits, expiresAt: record.grantExpiresAt },
      },
      secrets,
    )
  }

  async #person(tx: Tx, sessionId: string): Promise<UserCaller> {
    const now = timestamp(this.#deps.clock.wallMs())
    const caller = await callerOf(tx, { token: sessionId, credential: 'session' }, now)
    if (caller.kind === 'user') return caller
    throw new Error('a console session belongs to a user')
  }
}

/** The person decided about a difference: it must be the difference that counts now. */
function requireSameReplaced({ replaces }: ConsentDecision, replaced: EarlierGrant | null): void {
  if (replaces === undefined || replaces === (replaced?.tokenId ?? null)) return
  throw new AppError('conflict', 'The access of this program has changed', {
    details: 'Load this page again to see what it has now.',
  })
}

function shownInAudit({ tokenId, scopes, readOnly, groups, pin, declined, expiresAt }: EarlierGrant) {
  return { tokenId, scopes, limits: { readOnly, groups, pin, declined }, expiresAt }
}

async function checkRoom(
  tx: Tx,
  {
    userId,
    scopes,
    now,
    replaces,
  }: { userId: string; scopes: readonly Scope[]; now: string; replaces: boolean },
): Promise<void> {
  if (scopes.length === 0) {
    throw new AppError('invalid', 'Nothing is allowed', {
      details: 'Choose at least one permission, or cancel.',
    })
  }
  if (replaces || (await makeRoomForToken(tx, userId, now))) return
  throw new AppError('invalid', `A user has at most ${mostTokensOfUser} tokens and connected agents`, {
    details: 'Revoke one that is no longer needed on the page Tokens, then try again.',
  })
}

function refusal(to: ReturnAddress, { issuer }: OAuthAddresses, { code, description }: OAuthError): string {
  return answerAddress(to, issuer, { error: code, error_description: description })
}

/** The host that vouches for the client. */
function documentHost({ clientId }: OAuthClient): string | null {
  return clientId.startsWith('https:') ? new URL(clientId).host : null
}

/** Where the answer goes, for people. */
function placeOf(redirectUri: string): string {
  const { protocol, host, hostname } = new URL(redirectUri)
  if (protocol === 'http:') return `a program on this computer (${hostname})`
  return protocol === 'https:' ? host : `an app on this computer (${protocol.slice(0, -1)})`
}
