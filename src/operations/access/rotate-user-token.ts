import { rotateUserToken } from '../../contract/users.ts'
import { newToken, tokenHash } from '../../domain/access/tokens.ts'
import { deleteTokenOfUser, insertToken } from '../../store/repositories/tokens.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

/** Replaces only the token of this call, with its expiry; other tokens of the user stay valid. */
export default handler(rotateUserToken, async ({ tx, now, caller }) => {
  const userId = userOf(caller)
  const { tokenId, name, expiresAt } = caller.token
  const token = newToken('user')
  await deleteTokenOfUser(tx, userId, tokenId)
  const owner = { kind: 'user', userId } as const
  const options = { name, expiresAt, access: caller.token.access }
  const newTokenId = await insertToken(tx, tokenHash(token), owner, now, options)
  return {
    answer: { token },
    change: {
      objectType: 'token',
      objectId: newTokenId,
      accountId: null,
      before: { tokenId, name },
      after: { tokenId: newTokenId, name },
    },
    impact: { actions: ['change-credential', 'reveal-secret'] },
    effects: ['The token of this call stops working immediately; its replacement is shown once.'],
  }
})
