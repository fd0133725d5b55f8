import { redeployAppEnv } from '../../contract/deployments.ts'
import type { Content, Environment } from '../../domain/environments/environment.ts'
import { isLooping } from '../../domain/environments/health.ts'
import { isDeployable } from '../../domain/environments/kept-images.ts'
import { AppError } from '../../errors.ts'
import {
  findContentByVersion,
  findLastGoodRollout,
  listContents,
  listPods,
} from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { type Context, handler } from '../core/handler.ts'
import { draftOf, saveChange } from '../environments/change-environment.ts'
import { environmentResponse } from '../environments/responses.ts'
import { beginRollout } from './begin-rollout.ts'
import { branchHead, contentToDeploy, withAppChanges } from './content-to-deploy.ts'

export default handler(redeployAppEnv, async (context, input, target) => {
  const draft = draftOf(target.environment)
  const content =
    input.version === undefined
      ? ((await branchHead(context, target, draft)) ?? (await goodVersion(context, target, draft)))
      : await findContentByVersion(context.tx, draft.appEnvId, input.version)
  if (!content) {
    throw new AppError('invalid', `There is no version ${input.version}`, {
      details: 'get-app-env-history lists the versions of this environment.',
    })
  }
  if (!isDeployable(content)) throw await noLongerKept(context, content)
  await beginRollout(context, draft, content, { settings: draft.saved, activity: 'REDEPLOY' })
  const isNew = content.version === target.environment.nextVersion
  const message = !isNew
    ? `Deploying version ${content.version} again`
    : content.gitBranch === null
      ? `Building version ${content.version} with the changes`
      : `Building version ${content.version} from its Git branch`
  const change = await saveChange(context, target, draft)
  return {
    answer: {
      ...environmentResponse(draft, message),
      contentId: content.contentId,
      version: content.version,
    },
    change,
    effects: [`${message} with the saved settings, without downtime.`],
    wake: [draft.appEnvId],
  }
})

/** The last good version with the saved settings, and as the app is now. */
async function goodVersion(
  context: Context,
  target: EnvironmentTarget,
  draft: Environment,
): Promise<Content> {
  const rolloutId = await lastGood(context, draft)
  const content = await contentToDeploy(context, target, draft, draft.saved, rolloutId)
  return withAppChanges(context, target.app, draft, content)
}

/**
 * Null before the first good version; then the newest one is deployed again. A version whose containers keep exiting is
 * skipped, because callers who name no version want to go back to a working one.
 */
async function lastGood(
  { tx, now }: Context,
  { appEnvId, currentRolloutId }: Environment,
): Promise<string | null> {
  const good = await findLastGoodRollout(tx, appEnvId)
  if (!good || good.rolloutId !== currentRolloutId) return good?.rolloutId ?? null
  const pods = await listPods(tx, appEnvId, podsRead)
  if (!isLooping(pods, good.rolloutId, Date.parse(now))) return good.rolloutId
  return ((await findLastGoodRollout(tx, appEnvId, good.contentId)) ?? good).rolloutId
}

const podsRead = 50

/** At most this many versions are named in an error. */
const mostNamed = 20

async function noLongerKept({ tx }: Context, { appEnvId, version }: Content): Promise<AppError> {
  const kept = (await listContents(tx, appEnvId)).filter(isDeployable).map((content) => content.version)
  return new AppError('conflict', `Version ${version} is no longer kept`, {
    details: `Its image was removed because newer versions were deployed since. Kept versions: ${kept.slice(-mostNamed).join(', ')}. To bring it back, deploy its source again.`,
  })
}
