import { startAppEnv } from '../../contract/app-env-actions.ts'
import { handler, noImpact } from '../core/handler.ts'
import { beginRollout } from '../deployments/begin-rollout.ts'
import { contentToDeploy } from '../deployments/content-to-deploy.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { rolloutImpact } from './container-impact.ts'
import { environmentResponse } from './responses.ts'

export default handler(startAppEnv, async (context, _input, target) => {
  const { environment } = target
  if (environment.desiredState === 'running') {
    return {
      answer: environmentResponse(environment, 'The environment is already started'),
      impact: noImpact,
      effects: ['No effect: the environment is already started.'],
    }
  }
  const draft = draftOf(environment)
  const content = await contentToDeploy(context, target, draft, draft.applied)
  const started = await rolloutImpact(context, target, ['start'], { settings: draft.applied })
  const impact = { ...started, undo: 'undo-change' } as const
  await beginRollout(context, draft, content, { settings: draft.applied, activity: 'START' })
  const builds = content.version === environment.nextVersion && content.type === 'BUILD'
  const message = builds
    ? `Building version ${content.version}, then starting it`
    : `Starting version ${content.version}`
  const change = await saveChange(context, target, draft)
  return {
    answer: environmentResponse(draft, message),
    change,
    impact,
    effects: [`${message}.`],
    wake: [draft.appEnvId],
  }
})
