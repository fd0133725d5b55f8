import { redeployAppEnv } from '../contract/deployments.ts'
import { AppError } from '../errors.ts'
import { findContentByVersion } from '../store/rollouts.ts'
import { beginRollout } from './begin-rollout.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { branchHead, contentToDeploy } from './content-to-deploy.ts'
import { acted } from './environment-answers.ts'
import { handler } from './handler.ts'

export default handler(redeployAppEnv, async (context, input, target) => {
  const draft = draftOf(target.environment)
  const content =
    input.version === undefined
      ? ((await branchHead(context, target, draft)) ??
        (await contentToDeploy(context, target, draft, draft.saved)))
      : await findContentByVersion(context.tx, draft.appEnvId, input.version)
  if (!content) {
    throw new AppError('invalid', `There is no version ${input.version}`, {
      details: 'get-app-env-history lists the versions of this environment.',
    })
  }
  await beginRollout(context, draft, content, { settings: draft.saved, activity: 'REDEPLOY' })
  const isNew = content.version === target.environment.nextVersion
  const message = !isNew
    ? `Deploying version ${content.version} again`
    : content.gitBranch === null
      ? `Building version ${content.version} with the changes`
      : `Building version ${content.version} from branch ${content.gitBranch}`
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
