import { startAppEnv } from '../contract/app-env-actions.ts'
import { beginRollout } from './begin-rollout.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { acted } from './environment-answers.ts'
import { handler } from './handler.ts'
import { contentToDeploy } from './redeploy-app-env.ts'

export default handler(startAppEnv, async (context, _input, target) => {
  const { environment } = target
  if (environment.wish === 'running') {
    return {
      answer: acted(environment, 'The environment is started already'),
      effects: ['Nothing: it is started already.'],
    }
  }
  const draft = draftOf(environment)
  const content = await contentToDeploy(context, target, draft)
  await beginRollout(context, draft, content, { settings: draft.applied, activity: 'START' })
  const change = await saveChange(context, target, draft)
  return {
    answer: acted(draft, `Starting version ${content.version}`),
    change,
    effects: [`Starts version ${content.version}.`],
    wake: [draft.appEnvId],
  }
})
