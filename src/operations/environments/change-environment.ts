import type { App } from '../../contract/apps.ts'
import { isRestricted } from '../../domain/access/environment-access.ts'
import { checkZCloudLimit } from '../../domain/accounts/limits.ts'
import { deepCopy } from '../../domain/deep-copy.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import { effectiveFunctionConfig } from '../../domain/functions/config.ts'
import type { Account } from '../../store/repositories/accounts.ts'
import { accountSize, saveEnvironment, storedSize } from '../../store/repositories/environments.ts'
import { findRollout } from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Change, Context } from '../core/handler.ts'
import { noteAuthor } from './note-author.ts'
import { refreshDependents } from './refresh-references.ts'
import { checkSavedVariables } from './seal-variables.ts'
import { followReferences } from './variable-references.ts'

/** A copy to change, so that the audit entry has the values before and after. */
export function draftOf(environment: Environment): Environment {
  return deepCopy(environment)
}

/** Saves the draft as the next revision and describes the change for the audit log. */
export async function saveChange(
  context: Context,
  target: EnvironmentTarget,
  draft: Environment,
): Promise<Change> {
  checkSavedVariables(target.environment, draft)
  draft.revision = target.environment.revision + 1
  draft.updatedAt = context.now
  const size = environmentSize(draft, target.app, target.account)
  if (size > environmentSize(target.environment, target.app, target.account)) {
    await checkAccountSize(context, target, draft.appEnvId, size)
  }
  await followReferences(context, target, target.environment, draft)
  const zCloudsDelta = size - (await storedSize(context.tx, draft.appEnvId))
  await saveEnvironment(context.tx, draft, size)
  await noteAuthor(context, draft, target.environment.saved)
  const alsoChanged = await refreshDependents(context, target, draft)
  const recorded = await withDeployment(context, target.environment, draft)
  return {
    objectType: 'app-env',
    objectId: draft.appEnvId,
    accountId: draft.accountId,
    ...recorded,
    zCloudsDelta,
    alsoChanged,
  }
}

/** A change that deploys names the version: ids of rollouts mean nothing to a reader of the audit log. */
async function withDeployment({ tx }: Context, before: Environment, after: Environment) {
  const { latestRolloutId } = after
  if (latestRolloutId === before.latestRolloutId) return { before, after }
  const rollout = latestRolloutId === null ? null : await findRollout(tx, latestRolloutId)
  if (!rollout) return { before, after }
  const isSame = rollout.version === before.currentVersion
  return {
    before: {
      ...before,
      deployment: before.currentVersion === null ? null : `version ${before.currentVersion}`,
    },
    after: { ...after, deployment: `version ${rollout.version}${isSame ? ' again' : ''}` },
  }
}

export async function checkAccountSize(
  context: Context,
  { account, membership }: Pick<EnvironmentTarget, 'account' | 'membership'>,
  exceptAppEnvId: string | null,
  wanted: number,
): Promise<void> {
  const others = await accountSize(context.tx, account.accountId, exceptAppEnvId)
  const showsUsed = membership !== null && !isRestricted(account, membership)
  checkZCloudLimit({ settings: account.settings, others, wanted, showsUsed })
}

/** Counts towards zCloudLimit: zClouds x containers, maxScale or maxContainers (docs/interface.md#account-settings). */
export function environmentSize(environment: Environment, app: App, account: Account): number {
  const { saved, autoscaling } = environment
  if (app.isFunction) {
    return saved.zClouds * effectiveFunctionConfig(saved.functionConfig, account.settings).maxScale
  }
  return (
    saved.zClouds *
    (autoscaling.enabled ? Math.max(saved.containers, autoscaling.maxContainers) : saved.containers)
  )
}
