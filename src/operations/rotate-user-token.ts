import { rotateUserToken } from '../contract/users.ts'
import { newToken, tokenHash } from '../domain/tokens.ts'
import { deleteTokenOfUser, insertToken } from '../store/tokens.ts'
import { handler } from './handler.ts'
import { userOf } from './user-of.ts'

/** Replaces the token of this very call; other tokens of the user are revoked one by one. */
export default handler(rotateUserToken, async ({ tx, now, caller }) => {
  const userId = userOf(caller)
  const { tokenId, name } = caller.token
  const token = newToken('user')
  await deleteTokenOfUser(tx, userId, tokenId)
  const newTokenId = await insertToken(tx, tokenHash(token), { kind: 'user', userId }, now, { name })
  return {
    answer: { token },
    change: {
      objectType: 'token',
      objectId: newTokenId,
      accountId: null,
      before: { tokenId, name },
      after: { tokenId: newTokenId, name },
    },
    effects: ['The token of this call is dead at once; its replacement is shown once.'],
  }
})
