import { createUserToken } from '../../contract/users.ts'
import { expiryOf } from '../../domain/access/token-expiry.ts'
import { mostTokensOfUser, newToken, tokenHash } from '../../domain/access/tokens.ts'
import { AppError } from '../../errors.ts'
import { insertToken, makeRoomForToken } from '../../store/repositories/tokens.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

export default handler(createUserToken, async ({ tx, now, caller }, input) => {
  const userId = userOf(caller)
  if (!(await makeRoomForToken(tx, userId, now))) {
    throw new AppError('invalid', `A user has at most ${mostTokensOfUser} tokens`, {
      details: 'Revoke one that is no longer needed: list-user-tokens, then revoke-user-token.',
    })
  }
  const expiresAt = expiryOf(input.expiresAt, { now, creatorExpiresAt: caller.token.expiresAt })
  const token = newToken('user')
  const { name, readOnly } = input
  const options = { name, readOnly, expiresAt }
  const tokenId = await insertToken(tx, tokenHash(token), { kind: 'user', userId }, now, options)
  return {
    answer: { tokenId, token, expiresAt },
    change: {
      objectType: 'token',
      objectId: tokenId,
      accountId: null,
      before: null,
      after: { tokenId, ...options },
    },
    impact: { actions: ['change-credential', 'reveal-secret'] },
    effects: [
      readOnly ? 'Creates a read-only token.' : 'Creates a token with all your permissions.',
      expiresAt === null ? 'It does not expire.' : `It expires at ${expiresAt}.`,
    ],
  }
})
