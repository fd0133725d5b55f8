import type { ConsentDecision, EarlierGrant } from '../contract/consent.ts'
import type { Scope } from '../contract/scopes.ts'
import { type AgentLimits, scopesWithin } from '../domain/access/agent-limits.ts'
import type { Tx } from '../store/db.ts'
import { listGrantsOfClient } from '../store/repositories/oauth-grants.ts'

interface Requested {
  userId: string
  clientId: string
  scopes: readonly Scope[]
  now: string
}

/**
 * The grant that a request continues. A step-up asks for the scopes that a grant of this person and client was refused
 * for; its limits hold on and it is replaced. Otherwise the newest grant, as a start for the page only: another computer
 * may hold it under the same client id.
 */
export async function earlierGrantOf(
  tx: Tx,
  { userId, clientId, scopes, now }: Requested,
): Promise<EarlierGrant | null> {
  const grants = await listGrantsOfClient(tx, { userId, clientId, now })
  const steppingUp = grants
    .filter(({ wanted }) => wanted?.scopes.every((scope) => scopes.includes(scope)))
    .sort((one, other) => (one.wanted!.at < other.wanted!.at ? 1 : -1))
  const found = steppingUp[0] ?? grants[0]
  if (!found) return null
  const { tokenId, limits, expiresAt } = found
  const { readOnly, groups, pin: scope, declined = [] } = limits
  const { account, app, env, environments = null } = scope
  return {
    tokenId,
    isReplaced: found === steppingUp[0],
    scopes: found.scopes,
    declined: [...declined],
    readOnly,
    groups: groups && [...groups],
    pin: { account, app, env, environments: environments && [...environments] },
    expiresAt,
  }
}

const unlimited = {
  readOnly: false,
  groups: null,
  pin: { account: null, app: null, env: null, environments: null },
  expiresAt: null,
}

/** The access that a decision gives: what it leaves out stays as in the grant that it replaces. */
export function grantedAccess(
  { scopes: allowed, ...decision }: ConsentDecision,
  {
    wanted,
    replaced,
    readOnly: isReader,
  }: { wanted: readonly Scope[]; replaced: EarlierGrant | null; readOnly: boolean },
): { scopes: Scope[]; limits: AgentLimits; expiresAt: string | null } {
  const before = replaced ?? unlimited
  const { groups = before.groups, expiresAt = before.expiresAt } = decision
  const readOnly = (decision.readOnly ?? before.readOnly) || isReader
  const scopes = scopesWithin(
    wanted.filter((scope) => allowed.includes(scope)),
    { readOnly },
  )
  const requested = new Set([...wanted, ...(replaced?.declined ?? [])])
  const declined = [...requested].filter((scope) => !scopes.includes(scope))
  return { scopes, limits: { readOnly, groups, pin: decision.pin ?? before.pin, declined }, expiresAt }
}
