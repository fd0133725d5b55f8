import { revokeUserToken } from '../contract/users.ts'
import { deleteTokenOfUser, listTokensOfUser } from '../store/tokens.ts'
import { handler } from './handler.ts'
import { notFound } from './reach.ts'
import { userOf } from './user-of.ts'

export default handler(revokeUserToken, async ({ tx, caller }, { tokenId }) => {
  const userId = userOf(caller)
  const token = (await listTokensOfUser(tx, userId)).find((one) => one.tokenId === tokenId)
  if (!token || !(await deleteTokenOfUser(tx, userId, tokenId))) throw notFound('Token')
  const { name, readOnly } = token
  return {
    answer: { message: 'Token revoked' },
    change: {
      objectType: 'token',
      objectId: tokenId,
      accountId: null,
      before: { tokenId, name, readOnly },
      after: null,
    },
    effects: ['Whoever uses this token is refused from the next request on.'],
  }
})
