import type { App } from '../../contract/apps.ts'
import type { FunctionConfig } from '../../contract/function-config.ts'
import type { HealthCheck } from '../../contract/health.ts'
import type { AppRecord } from '../../domain/apps/app-settings.ts'
import type {
  Content,
  Environment,
  PodRecord,
  Rollout,
  Settings,
} from '../../domain/environments/environment.ts'
import { effectiveHealthCheck } from '../../domain/environments/health-check.ts'
import { servingOf } from '../../domain/environments/serving.ts'
import { effectiveFunctionConfig, warmContainers } from '../../domain/functions/config.ts'
import type { Db } from '../../store/db.ts'
import { type Account, findAccount } from '../../store/repositories/accounts.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { listNamesOf, type ServedName } from '../../store/repositories/domains.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { findContent, findRollout, listLivePods } from '../../store/repositories/rollouts.ts'

export interface RolloutView {
  rollout: Rollout
  content: Content
  healthCheck: HealthCheck
}

/** All stored data of one environment, from one read. */
export interface EnvironmentView {
  environment: Environment
  app: AppRecord
  account: Account
  current: RolloutView | null
  wanted: RolloutView | null
  /**
   * The rollout whose containers take requests: the current one, or the wanted one in its stability window if it is
   * alone.
   */
  serving: RolloutView | null
  pods: PodRecord[]
  domains: ServedName[]
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
    const { app } = stored
    const view = async (rolloutId: string | null): Promise<RolloutView | null> => {
      const rollout = rolloutId === null ? null : await findRollout(tx, rolloutId)
      const content = rollout && (await findContent(tx, rollout.contentId))
      if (!rollout || !content) return null
      // Settings that take effect without new containers are in `applied` once the rollout serves (3.3).
      const { healthCheck } =
        rolloutId === environment.currentRolloutId ? environment.applied : rollout.settings
      return {
        rollout,
        content,
        healthCheck: effectiveHealthCheck(app, healthCheck),
      }
    }
    const { currentRolloutId, latestRolloutId } = environment
    const current = await view(currentRolloutId)
    const wanted = await view(environment.wantedRolloutId)
    const served = servingOf(environment, current?.rollout ?? null, wanted?.rollout ?? null)
    const serving = [current, wanted].find((one) => one?.rollout === served) ?? null
    const settings = serving && serving === wanted ? wanted.rollout.settings : environment.applied
    const first = currentRolloutId === null && latestRolloutId ? await findRollout(tx, latestRolloutId) : null
    return {
      environment,
      app,
      account,
      current,
      wanted,
      serving,
      pods: await listLivePods(tx, appEnvId),
      domains: await listNamesOf(tx, appEnvId),
      firstFailure: first?.failure?.reason ?? null,
      ...scalingOf(app, account, settings),
    }
  })
}

/** The view as it is once the wanted version is the current one. */
export function promotedView(view: EnvironmentView): EnvironmentView {
  const { environment, account, app, wanted } = view
  if (!wanted) return view
  const { rolloutId, settings } = wanted.rollout
  return {
    ...view,
    environment: {
      ...environment,
      status: 'RUNNING',
      currentRolloutId: rolloutId,
      wantedRolloutId: null,
      applied: settings,
    },
    ...{ current: wanted, wanted: null, serving: wanted, firstFailure: null },
    ...scalingOf(app, account, settings),
  }
}

function scalingOf(
  app: App,
  account: Account,
  { functionConfig: given }: Settings,
): Pick<EnvironmentView, 'functionConfig' | 'warm'> {
  if (!app.isFunction) return { functionConfig: null, warm: 0 }
  const functionConfig = effectiveFunctionConfig(given, account.settings)
  return { functionConfig, warm: warmContainers(functionConfig, account.settings) }
}

/** The version of a pod, one of the two that may run now. */
export function rolloutView(view: EnvironmentView, rolloutId: string): RolloutView | null {
  return [view.wanted, view.current].find((known) => known?.rollout.rolloutId === rolloutId) ?? null
}
