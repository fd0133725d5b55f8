import { getAppEnv } from '../contract/app-envs.ts'
import { requireSecretsAccess } from './authorise.ts'
import { appEnvAnswer } from './environment-answers.ts'
import { handler } from './handler.ts'

export default handler(getAppEnv, async (context, input, target) => {
  if (input.decrypt) {
    const refusal = 'Admin permission required to decrypt secrets'
    requireSecretsAccess(context.caller, target.membership, refusal, 'X1')
  }
  return { answer: await appEnvAnswer(context, target, input.decrypt) }
})
