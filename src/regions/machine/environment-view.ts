import type { App } from '../../contract/apps.ts'
import type { FunctionConfig } from '../../contract/function-config.ts'
import type { Content, Environment, PodRecord, Rollout } from '../../domain/environments/environment.ts'
import { effectiveFunctionConfig, warmContainers } from '../../domain/functions/config.ts'
import type { Db } from '../../store/db.ts'
import { type Account, findAccount } from '../../store/repositories/accounts.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { findContent, findRollout, listLivePods } from '../../store/repositories/rollouts.ts'

export interface RolloutView {
  rollout: Rollout
  content: Content
}

/** All stored data of one environment, from one read. */
export interface EnvironmentView {
  environment: Environment
  app: App
  account: Account
  current: RolloutView | null
  wanted: RolloutView | null
  pods: PodRecord[]
  /** Why no version ever served: the failure of the newest deployment of an environment without a current one. */
  firstFailure: string | null
  /** Functions only: the effective settings. */
  functionConfig: FunctionConfig | null
  /** Functions only: containers kept warm (F11). */
  warm: number
}

export function loadView(db: Db, appEnvId: string): Promise<EnvironmentView | null> {
  return db.read(async (tx) => {
    const environment = await findEnvironment(tx, { appEnvId })
    const stored = environment && (await findApp(tx, environment.appId))
    const account = environment && (await findAccount(tx, environment.accountId))
    if (!environment || !stored || !account) return null
    const view = async (rolloutId: string | null): Promise<RolloutView | null> => {
      const rollout = rolloutId === null ? null : await findRollout(tx, rolloutId)
      const content = rollout && (await findContent(tx, rollout.contentId))
      return rollout && content ? { rollout, content } : null
    }
    const { app } = stored
    const { currentRolloutId, latestRolloutId } = environment
    const first = currentRolloutId === null && latestRolloutId ? await findRollout(tx, latestRolloutId) : null
    const functionConfig = app.isFunction
      ? effectiveFunctionConfig(environment.applied.functionConfig, account.settings)
      : null
    return {
      environment,
      app,
      account,
      current: await view(environment.currentRolloutId),
      wanted: await view(environment.wantedRolloutId),
      pods: await listLivePods(tx, appEnvId),
      firstFailure: first?.failure?.reason ?? null,
      functionConfig,
      warm: functionConfig ? warmContainers(functionConfig, account.settings) : 0,
    }
  })
}
