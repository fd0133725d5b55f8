import { createUserToken } from '../contract/users.ts'
import { newToken, tokenHash } from '../domain/tokens.ts'
import { AppError } from '../errors.ts'
import { insertToken, listTokensOfUser } from '../store/tokens.ts'
import { handler } from './handler.ts'
import { userOf } from './user-of.ts'

const mostTokens = 100

export default handler(createUserToken, async ({ tx, now, caller }, input) => {
  const userId = userOf(caller)
  if ((await listTokensOfUser(tx, userId)).length >= mostTokens) {
    throw new AppError('invalid', `A user has at most ${mostTokens} tokens`, {
      details: 'Revoke one that is not needed any more.',
    })
  }
  const token = newToken('user')
  const { name, readOnly } = input
  const tokenId = await insertToken(tx, tokenHash(token), { kind: 'user', userId }, now, { name, readOnly })
  return {
    answer: { tokenId, token },
    change: {
      objectType: 'token',
      objectId: tokenId,
      accountId: null,
      before: null,
      after: { tokenId, name, readOnly },
    },
    effects: [readOnly ? 'Makes a token that can only read.' : 'Makes a token with all your permissions.'],
  }
})
