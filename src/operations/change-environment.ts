import type { App } from '../contract/apps.ts'
import { checkZCloudLimit } from '../domain/account-limits.ts'
import type { Environment } from '../domain/environment.ts'
import { effectiveFunctionConfig } from '../domain/function-config.ts'
import type { Account } from '../store/accounts.ts'
import { accountSize, saveEnvironment } from '../store/environments.ts'
import type { EnvironmentTarget } from './access-targets.ts'
import type { Change, Context } from './handler.ts'

/** A copy to change, so that the journal has both sides. */
export function draftOf(environment: Environment): Environment {
  return structuredClone(environment)
}

/** Saves the draft as the next revision and describes the change for the journal. */
export async function saveChange(
  context: Context,
  target: EnvironmentTarget,
  draft: Environment,
): Promise<Change> {
  draft.revision = target.environment.revision + 1
  draft.updatedAt = context.now
  const size = environmentSize(draft, target.app, target.account)
  if (size > environmentSize(target.environment, target.app, target.account)) {
    await checkAccountSize(context, target.account, draft.appEnvId, size)
  }
  await saveEnvironment(context.tx, draft, size)
  return {
    objectType: 'app-env',
    objectId: draft.appEnvId,
    accountId: draft.accountId,
    before: target.environment,
    after: draft,
  }
}

export async function checkAccountSize(
  context: Context,
  account: Account,
  exceptAppEnvId: string | null,
  wanted: number,
): Promise<void> {
  const others = await accountSize(context.tx, account.accountId, exceptAppEnvId)
  checkZCloudLimit({ settings: account.settings, others, wanted })
}

/** zClouds x containers, functions by maxScale, autoscaled apps by their most (contract.md 4). */
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
