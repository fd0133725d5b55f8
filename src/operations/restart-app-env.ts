import { restartAppEnv } from '../contract/app-env-actions.ts'
import { AppError } from '../errors.ts'
import { beginRollout } from './begin-rollout.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { contentToDeploy } from './content-to-deploy.ts'
import { acted, settingsInForce } from './environment-answers.ts'
import { handler } from './handler.ts'

export default handler(restartAppEnv, async (context, _input, target) => {
  const { environment } = target
  if (environment.wish === 'stopped') {
    throw new AppError('invalid', 'The environment is stopped', { details: 'Use start-app-env.' })
  }
  const draft = draftOf(environment)
  // A deployment or applied changes under way were acknowledged: the restart goes on with them, never back.
  const settings = await settingsInForce(context, environment)
  const underWay = environment.wantedRolloutId ?? environment.currentRolloutId
  const content = await contentToDeploy(context, target, draft, settings, underWay)
  await beginRollout(context, draft, content, { settings, activity: 'RESTART' })
  const change = await saveChange(context, target, draft)
  return {
    answer: acted(draft, `Restarting version ${content.version}`),
    change,
    effects: ['Replaces every container by a fresh one; the new ones answer before the old ones go.'],
    wake: [draft.appEnvId],
  }
})
