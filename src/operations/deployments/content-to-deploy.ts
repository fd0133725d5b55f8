import { howToDeploy, usesGitHost } from '../../domain/apps/app.ts'
import { type AppRecord, changesSince } from '../../domain/apps/app-settings.ts'
import type { Content, Environment, Settings } from '../../domain/environments/environment.ts'
import { needsBuild } from '../../domain/environments/pending-changes.ts'
import { AppError } from '../../errors.ts'
import { findContent, findRollout } from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Context } from '../core/handler.ts'
import { addContent } from './begin-rollout.ts'

/** For apps of a Git host: a new version from the current head of the branch. Null for other apps. */
export async function branchHead(
  context: Context,
  { app }: EnvironmentTarget,
  draft: Environment,
  { branch }: Settings,
): Promise<Content | null> {
  if (!usesGitHost(app) || branch === '') return null
  return addContent(context, app, draft, {
    type: 'BUILD',
    image: null,
    uploadId: null,
    gitBranch: branch,
    gitCommitId: null,
  })
}

/**
 * The content of `rolloutId` (by default the serving one), else of the last deployment, else the app's own image or
 * branch; rejected without any of these. Source is built again if `settings` changes the inputs of its build (3.3).
 */
export async function contentToDeploy(
  context: Context,
  target: EnvironmentTarget,
  draft: Environment,
  settings: Settings,
  rolloutId: string | null = target.environment.currentRolloutId,
): Promise<Content> {
  const { environment, app } = target
  const sourceId = rolloutId ?? environment.latestRolloutId
  const rollout = sourceId === null ? null : await findRollout(context.tx, sourceId)
  const content = rollout && (await findContent(context.tx, rollout.contentId))
  if (content?.type === 'BUILD' && needsBuild(settings, rollout!.settings))
    return builtAgain(context, app, draft, content, settings)
  if (content) return content
  if (app.image !== null && (app.useImage || app.isFunction)) {
    return ofImage(context, app, draft, app.image)
  }
  const head = await branchHead(context, target, draft, settings)
  if (head) return head
  throw new AppError('invalid', 'Nothing is deployed yet', {
    details: `${howToDeploy(app)} first.`,
  })
}

/** A new version from the same source, because `settings` changes the inputs of the build (3.3). */
export function builtAgain(
  context: Context,
  app: AppRecord,
  draft: Environment,
  content: Content,
  settings: Settings,
): Promise<Content> {
  const { uploadId } = content
  return addContent(context, app, draft, {
    type: 'BUILD',
    image: null,
    uploadId,
    ...gitPart(content, settings.branch),
  })
}

/** The content, or a new version of it if the app was changed since (docs/interface.md#changing-an-app). */
export async function withAppChanges(
  context: Context,
  app: AppRecord,
  draft: Environment,
  content: Content,
  settings: Settings = draft.saved,
): Promise<Content> {
  const changed = changesSince(app, content)
  if (changed === null) return content
  const takesImages = app.image !== null && (app.useImage || app.isFunction)
  if (changed === 'image' && takesImages) return ofImage(context, app, draft, app.image!)
  return content.type === 'IMAGE'
    ? ofImage(context, app, draft, content.image ?? '')
    : builtAgain(context, app, draft, content, settings)
}

function ofImage(context: Context, app: AppRecord, draft: Environment, image: string): Promise<Content> {
  return addContent(context, app, draft, { type: 'IMAGE', image, uploadId: null, gitCommitId: null })
}

/** Another branch is built from its head; for other changes the same commit is built again. */
function gitPart(content: Content, branch: string): Pick<Content, 'gitBranch' | 'gitCommitId'> {
  const isOther = content.gitBranch !== null && content.gitBranch !== branch
  return isOther
    ? { gitBranch: branch, gitCommitId: null }
    : { gitBranch: content.gitBranch, gitCommitId: content.gitCommitId }
}
