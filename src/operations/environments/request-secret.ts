import { randomBytes } from 'node:crypto'
import { timestamp } from '../../clock.ts'
import { requestSecret } from '../../contract/app-env-actions.ts'
import { tokenHash } from '../../domain/access/tokens.ts'
import { newId } from '../../domain/ids.ts'
import { AppError } from '../../errors.ts'
import {
  countSecretRequests,
  forgetSecretRequestsBefore,
  insertSecretRequest,
} from '../../store/repositories/secret-requests.ts'
import { handler } from '../core/handler.ts'

const lifeMs = 15 * 60_000
const mostOpen = 20

export default handler(requestSecret, async (context, { variable }, { environment }) => {
  const { tx, now, caller, installation } = context
  const { appEnvId, accountId } = environment
  await forgetSecretRequestsBefore(tx, now)
  if ((await countSecretRequests(tx, appEnvId, now)) >= mostOpen) {
    throw new AppError('invalid', 'Too many open links', {
      details: `${mostOpen} links of this environment are unused. Have one of them used, or wait until they expire after 15 minutes.`,
    })
  }
  const code = randomBytes(32).toString('base64url')
  const expiresAt = timestamp(Date.parse(now) + lifeMs)
  const { tokenId } = caller.token
  await insertSecretRequest(tx, { codeHash: tokenHash(code), appEnvId, variable, tokenId, expiresAt })
  return {
    answer: { url: `${installation.publicUrl()}/console/secret/${code}`, expiresAt },
    change: {
      objectType: 'secret-request',
      objectId: newId('srq'),
      accountId,
      before: null,
      after: { appEnvId, variable },
    },
    impact: { actions: ['create-object'] },
    effects: ['Creates one link, valid for 15 minutes, under which a person enters the value.'],
  }
})
