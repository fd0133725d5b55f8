import { redeployAppEnv } from '../contract/deployments.ts'
import { usesGitHost } from '../domain/app.ts'
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
      ? ((await branchHead(context, target, draft)) ?? (await contentToDeploy(context, target, draft)))
      : await findContentByVersion(context.tx, draft.appEnvId, input.version)
  if (!content) {
    throw new AppError('invalid', `There is no version ${input.version}`, {
      details: 'get-app-env-history lists the versions of this environment.',
    })
  }
  await beginRollout(context, draft, content, { settings: draft.saved, activity: 'REDEPLOY' })
  const isNew = content.version === target.environment.nextVersion
  const message =
    isNew && content.gitBranch !== null
      ? `Building version ${content.version} from branch ${content.gitBranch}`
      : `Deploying version ${content.version} again`
  const change = await saveChange(context, target, draft)
  return {
    answer: {
      ...acted(draft, message),
      contentId: content.contentId,
      version: content.version,
    },
    change,
    effects: [`${message} with the saved settings, without downtime.`],
    wake: [draft.appEnvId],
  }
})

/** Apps of a Git host: a new version of what the branch holds now. Null for other apps. */
async function branchHead(
  context: Context,
  { app }: EnvironmentTarget,
  draft: EnvironmentTarget['environment'],
): Promise<Content | null> {
  if (!usesGitHost(app) || draft.saved.branch === '') return null
  const { branch } = draft.saved
  return addContent(context, draft, {
    type: 'BUILD',
    image: null,
    uploadId: null,
    gitBranch: branch,
    gitCommitId: null,
  })
}

/** What serves now, else what was deployed last, else the app's own image or branch; refused when there is none of them. */
export async function contentToDeploy(
  context: Context,
  target: EnvironmentTarget,
  draft: EnvironmentTarget['environment'],
): Promise<Content> {
  const { environment, app } = target
  const rolloutId = environment.currentRolloutId ?? environment.latestRolloutId
  const rollout = rolloutId === null ? null : await findRollout(context.tx, rolloutId)
  const content = rollout && (await findContent(context.tx, rollout.contentId))
  if (content) return content
  if (app.image !== null && (app.useImage || app.isFunction)) {
    return addContent(context, draft, { type: 'IMAGE', image: app.image, uploadId: null, gitCommitId: null })
  }
  const head = await branchHead(context, target, draft)
  if (head) return head
  throw new AppError('invalid', 'Nothing is deployed yet', {
    details:
      'Deploy source (request-deploy-storage-key, then notify-code-upload) or an image (deploy-app-env-image) first.',
  })
}
