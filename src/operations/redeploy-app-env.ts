import { redeployAppEnv } from '../contract/deployments.ts'
import type { Content } from '../domain/environment.ts'
import { AppError } from '../errors.ts'
import { findContent, findContentByVersion, findRollout } from '../store/rollouts.ts'
import type { EnvironmentTarget } from './authorise.ts'
import { addContent, beginRollout } from './begin-rollout.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { acted } from './environment-answers.ts'
import { type Context, handler } from './handler.ts'

export default handler(redeployAppEnv, async (context, input, target) => {
  const draft = draftOf(target.environment)
  const content =
    input.version === undefined
      ? await contentToDeploy(context, target, draft)
      : await findContentByVersion(context.tx, draft.appEnvId, input.version)
  if (!content) {
    throw new AppError('invalid', `There is no version ${input.version}`, {
      details: 'get-app-env-history lists the versions of this environment.',
    })
  }
  await beginRollout(context, draft, content, { settings: draft.saved, activity: 'REDEPLOY' })
  const change = await saveChange(context, target, draft)
  return {
    answer: {
      ...acted(draft, `Deploying version ${content.version} again`),
      contentId: content.contentId,
      version: content.version,
    },
    change,
    effects: [`Deploys version ${content.version} again with the saved settings, without downtime.`],
    wake: [draft.appEnvId],
  }
})

/** What serves now, else what was deployed last, else the app's own image; refused when there is none of them. */
export async function contentToDeploy(
  context: Context,
  { environment, app }: EnvironmentTarget,
  draft: EnvironmentTarget['environment'],
): Promise<Content> {
  const rolloutId = environment.currentRolloutId ?? environment.latestRolloutId
  const rollout = rolloutId === null ? null : await findRollout(context.tx, rolloutId)
  const content = rollout && (await findContent(context.tx, rollout.contentId))
  if (content) return content
  if (app.image !== null && (app.useImage || app.isFunction)) {
    return addContent(context, draft, { type: 'IMAGE', image: app.image, uploadId: null, gitCommitId: null })
  }
  throw new AppError('invalid', 'Nothing is deployed yet', {
    details:
      'Deploy source (request-deploy-storage-key, then notify-code-upload) or an image (deploy-app-env-image) first.',
  })
}
