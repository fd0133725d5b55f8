import { stopAppEnv } from '../../contract/app-env-actions.ts'
import { handler, noImpact } from '../core/handler.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { environmentResponse } from './responses.ts'
import { stopEnvironment } from './stop-environment.ts'

export default handler(stopAppEnv, async (context, _input, target) => {
  const { environment } = target
  if (environment.desiredState === 'stopped') {
    return {
      answer: environmentResponse(environment, 'The environment is already stopped'),
      impact: noImpact,
      effects: ['No effect: the environment is already stopped.'],
    }
  }
  const draft = draftOf(environment)
  const { impact, effect } = await stopEnvironment(context, target, draft)
  const change = await saveChange(context, target, draft)
  return {
    answer: environmentResponse(draft, 'The environment stops; start-app-env brings it back'),
    change,
    impact,
    effects: [effect],
    wake: [draft.appEnvId],
  }
})
