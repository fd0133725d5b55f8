import { rotateAppEnvToken } from '../../contract/users.ts'
import { newToken, tokenHash } from '../../domain/access/tokens.ts'
import { deleteTokensOfEnvironment, insertToken } from '../../store/repositories/tokens.ts'
import { handler } from '../core/handler.ts'

export default handler(rotateAppEnvToken, async ({ tx, now }, _input, { environment }) => {
  const { appEnvId, accountId } = environment
  const token = newToken('environment')
  await deleteTokensOfEnvironment(tx, appEnvId)
  const tokenId = await insertToken(tx, tokenHash(token), { kind: 'environment', appEnvId }, now)
  return {
    answer: { token },
    change: { objectType: 'token', objectId: appEnvId, accountId, before: null, after: { tokenId } },
    impact: { actions: ['change-credential', 'reveal-secret'] },
    effects: ['Earlier tokens of this environment stop working immediately; the new one is shown once.'],
  }
})
