import { getAppEnv } from '../../contract/app-envs.ts'
import { requireSecretsAccess } from '../core/authorize.ts'
import { handler, secretsShown } from '../core/handler.ts'
import { appEnvResponse } from './responses.ts'

export default handler(getAppEnv, async (context, input, target) => {
  if (!input.decrypt) return { answer: await appEnvResponse(context, target, false) }
  const refusal = 'Admin permission required to decrypt secrets'
  requireSecretsAccess(context.caller, target.membership, refusal, 'X1')
  const { appEnvId: objectId, accountId } = target.environment
  return {
    answer: await appEnvResponse(context, target, true),
    change: secretsShown('app-env', { objectId, accountId }),
  }
})
