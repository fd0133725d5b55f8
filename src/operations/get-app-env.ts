import { getAppEnv } from '../contract/app-envs.ts'
import { AppError } from '../errors.ts'
import { appEnvAnswer } from './environment-answers.ts'
import { handler } from './handler.ts'

export default handler(getAppEnv, async (context, input, target) => {
  if (input.decrypt && !target.membership?.admin) {
    throw new AppError('forbidden', 'Admin permission required to decrypt secrets', {
      details: 'Read without decrypt, or ask an admin of the account.',
      rule: 'X1',
    })
  }
  return { answer: await appEnvAnswer(context, target, input.decrypt) }
})
