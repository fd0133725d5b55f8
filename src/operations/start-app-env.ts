import { startAppEnv } from '../contract/app-env-actions.ts'
import { beginRollout } from './begin-rollout.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { contentToDeploy } from './content-to-deploy.ts'
import { acted } from './environment-answers.ts'
import { handler } from './handler.ts'

export default handler(startAppEnv, async (context, _input, target) => {
  const { environment } = target
  if (environment.wish === 'running') {
    return {
      answer: acted(environment, 'The environment is started already'),
      effects: ['Nothing: it is started already.'],
    }
  }
  const draft = draftOf(environment)
  const content = await contentToDeploy(context, target, draft, draft.applied)
  await beginRollout(context, draft, content, { settings: draft.applied, activity: 'START' })
  const builds = content.version === environment.nextVersion && content.type === 'BUILD'
  const message = builds
    ? `Building version ${content.version}, then starting it`
    : `Starting version ${content.version}`
  const change = await saveChange(context, target, draft)
  return {
    answer: acted(draft, message),
    change,
    effects: [`${message}.`],
    wake: [draft.appEnvId],
  }
})
