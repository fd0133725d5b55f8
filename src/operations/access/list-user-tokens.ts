import { listUserTokens } from '../../contract/users.ts'
import { environmentsIn, type TokenAccess } from '../../domain/access/agent-limits.ts'
import { isExpired } from '../../domain/access/token-expiry.ts'
import { findGrants, type StoredGrant } from '../../store/repositories/oauth-grants.ts'
import { listTokensOfUser } from '../../store/repositories/tokens.ts'
import { accessOfGrant } from '../core/caller.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

export default handler(listUserTokens, async ({ tx, caller, now, tokenUses }) => {
  const stored = await listTokensOfUser(tx, userOf(caller))
  const grants = await findGrants(
    tx,
    stored.map(({ tokenId }) => tokenId),
  )
  const tokens = stored.map((token) => {
    const { tokenId, name, readOnly, createdAt, expiresAt, lastUsedAt } = token
    const grant = grants.get(tokenId)
    return {
      tokenId,
      name,
      readOnly,
      current: tokenId === caller.token.tokenId,
      createdAt,
      expiresAt,
      expired: isExpired(expiresAt, now),
      lastUsedAt: tokenUses.latest(tokenId) ?? lastUsedAt,
      ...limitsOf(grant === undefined ? token.access : accessOfGrant(grant, grant.scopes)),
      agent: agentOf(grant),
    }
  })
  return { answer: { tokens } }
})

function agentOf(grant: StoredGrant | undefined) {
  if (grant === undefined) return null
  const { clientId, clientHost: host, scopes, limits } = grant
  const { readOnly, groups, pin } = limits
  const environments = pin.environments ? [...pin.environments] : null
  return { clientId, host, scopes, readOnly, groups: groups && [...groups], pin: { ...pin, environments } }
}

function limitsOf({ kind, label, scopes, groups, pin, mayPropose }: TokenAccess) {
  const environments = environmentsIn(pin)
  return {
    kind,
    label,
    scopes: scopes && [...scopes],
    accountId: pin.account,
    appId: pin.app,
    appEnvIds: environments && [...environments],
    toolGroups: groups && [...groups],
    mayPropose,
  }
}
