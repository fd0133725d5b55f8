import { revokeUserToken } from '../../contract/users.ts'
import { endGrant } from '../../store/repositories/oauth-grants.ts'
import { deleteTokenOfUser, listTokensOfUser } from '../../store/repositories/tokens.ts'
import { notFound } from '../core/authorize.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

export default handler(revokeUserToken, async ({ tx, caller, now }, { tokenId }) => {
  const userId = userOf(caller)
  const token = (await listTokensOfUser(tx, userId)).find((one) => one.tokenId === tokenId)
  if (!token || !(await deleteTokenOfUser(tx, userId, tokenId))) throw notFound('token')
  await endGrant(tx, tokenId, now)
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
    impact: { actions: ['change-credential'] },
    effects: ['Requests with this token are rejected from now on.'],
  }
})
