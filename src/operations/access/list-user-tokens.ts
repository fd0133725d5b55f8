import { listUserTokens } from '../../contract/users.ts'
import { listTokensOfUser } from '../../store/repositories/tokens.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

export default handler(listUserTokens, async ({ tx, caller }) => {
  const tokens = (await listTokensOfUser(tx, userOf(caller))).map(
    ({ tokenId, name, readOnly, createdAt }) => ({
      tokenId,
      name,
      readOnly,
      current: tokenId === caller.token.tokenId,
      createdAt,
    }),
  )
  return { answer: { tokens } }
})
