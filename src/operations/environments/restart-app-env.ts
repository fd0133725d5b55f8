import { restartAppEnv } from '../../contract/app-env-actions.ts'
import type { ImpactStatement } from '../../contract/impact.ts'
import { AppError } from '../../errors.ts'
import { handler } from '../core/handler.ts'
import { beginRollout } from '../deployments/begin-rollout.ts'
import { contentToDeploy } from '../deployments/content-to-deploy.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { rolloutImpact } from './container-impact.ts'
import { environmentResponse, settingsInForce } from './responses.ts'

export default handler(restartAppEnv, async (context, _input, target) => {
  const { environment } = target
  if (environment.desiredState === 'stopped') {
    throw new AppError('invalid', 'The environment is stopped', { details: 'Use start-app-env.' })
  }
  const draft = draftOf(environment)
  // An unfinished deployment was acknowledged, so the restart keeps its settings and never rolls it back.
  const settings = await settingsInForce(context, environment)
  const underWay = environment.wantedRolloutId ?? environment.currentRolloutId
  const content = await contentToDeploy(context, target, draft, settings, underWay)
  const impact = await rolloutImpact(context, target, ['restart'], { settings })
  await beginRollout(context, draft, content, { settings, activity: 'RESTART' })
  const change = await saveChange(context, target, draft)
  return {
    answer: environmentResponse(draft, `Restarting version ${content.version}`),
    change,
    impact,
    effects: [restartEffect(impact)],
    wake: [draft.appEnvId],
  }
})

/** Two containers never use one volume, so there the old one ends first. */
function restartEffect({ containersEnded, downtimeSeconds }: ImpactStatement): string {
  if (containersEnded === 0) return 'No container runs; new ones start.'
  return downtimeSeconds === 0
    ? 'Replaces every container with a new one; old containers stop after the new ones serve.'
    : 'Replaces every container with a new one; it is down from the end of the old container until the new one serves.'
}
