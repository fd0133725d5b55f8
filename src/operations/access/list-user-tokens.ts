import { listUserTokens } from '../../contract/users.ts'
import { isExpired } from '../../domain/access/token-expiry.ts'
import { listTokensOfUser } from '../../store/repositories/tokens.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

export default handler(listUserTokens, async ({ tx, caller, now, tokenUses }) => {
  const tokens = (await listTokensOfUser(tx, userOf(caller))).map(
    ({ tokenId, name, readOnly, createdAt, expiresAt, lastUsedAt }) => ({
      tokenId,
      name,
      readOnly,
      current: tokenId === caller.token.tokenId,
      createdAt,
      expiresAt,
      expired: isExpired(expiresAt, now),
      lastUsedAt: tokenUses.latest(tokenId) ?? lastUsedAt,
    }),
  )
  return { answer: { tokens } }
})
