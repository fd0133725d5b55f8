import { compareAppEnvVersions } from '../../contract/deployments.ts'
import type { Content } from '../../domain/environments/environment.ts'
import { changedSettings, changedVariableNames } from '../../domain/environments/version-changes.ts'
import { AppError } from '../../errors.ts'
import { findContentByVersion, findRolloutOfContent } from '../../store/repositories/rollouts.ts'
import { openVariable } from '../../store/secrets/opened.ts'
import { type Context, handler } from '../core/handler.ts'

/** A version may have been deployed with several settings; those of its last deployment count. */
export default handler(compareAppEnvVersions, async (context, input, { environment: { appEnvId } }) => {
  const from = await deployedVersion(context, appEnvId, input.from)
  const to = await deployedVersion(context, appEnvId, input.to)
  const variables = changedVariableNames(from.settings.envVars, to.settings.envVars, (variable) =>
    openVariable(context.secrets, appEnvId, variable),
  )
  const changes = changedSettings(from.settings, to.settings)
  return { answer: { appEnvId, from: facts(from.content), to: facts(to.content), changes, variables } }
})

async function deployedVersion(context: Context, appEnvId: string, version: number) {
  const content = await findContentByVersion(context.tx, appEnvId, version)
  const rollout = content && (await findRolloutOfContent(context.tx, content))
  if (content && rollout) return { content, settings: rollout.settings }
  throw new AppError('invalid', `There is no version ${version}`, {
    details: 'get-app-env-history lists the versions of this environment.',
  })
}

function facts(content: Content) {
  const { version, contentId, type, gitBranch, gitCommitId, createdAt } = content
  return {
    version,
    contentId,
    type,
    image: content.image ?? content.containerImage,
    gitBranch,
    gitCommitId,
    createdAt,
  }
}
