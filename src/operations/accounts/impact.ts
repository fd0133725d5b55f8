import { isDeepStrictEqual } from 'node:util'
import type { ImpactStatement } from '../../contract/impact.ts'
import { effectiveFunctionConfig, warmContainers } from '../../domain/functions/config.ts'
import type { Tx } from '../../store/db.ts'
import type { Account } from '../../store/repositories/accounts.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { findEnvironment, listEnvironmentIds } from '../../store/repositories/environments.ts'
import { runningContainers, warmthImpact } from '../environments/container-impact.ts'

/** Limits keep in check what those with access may use: raising one grants more, as access does. */
const limits = ['zCloudLimit', 'functionMaxScale', 'functionMaxMinScale'] as const

/** Scale to zero decides how many containers of idle functions are kept. */
export async function accountImpact(tx: Tx, before: Account, after: Account): Promise<ImpactStatement> {
  const access =
    before.settings.memberEnvAccessEnabled !== after.settings.memberEnvAccessEnabled ||
    limits.some((name) => after.settings[name] > before.settings[name])
  const isOther = !isDeepStrictEqual(
    { ...before.settings, memberEnvAccessEnabled: null, name: before.name },
    { ...after.settings, memberEnvAccessEnabled: null, name: after.name },
  )
  const actions = [
    ...(access ? (['change-access'] as const) : []),
    ...(isOther ? (['change-settings'] as const) : []),
  ]
  const scales = before.settings.functionScaleToZero !== after.settings.functionScaleToZero
  return {
    ...(actions.length > 0 ? { actions } : {}),
    ...(scales ? await functionsImpact(tx, before, after, actions) : {}),
  }
}

async function functionsImpact(
  tx: Tx,
  before: Account,
  after: Account,
  actions: NonNullable<ImpactStatement['actions']>,
): Promise<ImpactStatement> {
  const environments: string[] = []
  let scaled: ImpactStatement['actions'] = []
  let containersStarted = 0
  for (const { appEnvId, appId } of await listEnvironmentIds(tx, { accountId: before.accountId })) {
    const app = (await findApp(tx, appId))?.app
    const environment = app?.isFunction ? await findEnvironment(tx, { appEnvId }) : null
    if (environment?.desiredState !== 'running' || environment.currentRolloutId === null) continue
    const warm = ({ settings }: Account) =>
      warmContainers(effectiveFunctionConfig(environment.applied.functionConfig, settings), settings)
    const present = await runningContainers(tx, appEnvId)
    const impact = warmthImpact({ before: warm(before), after: warm(after), present })
    if (!impact.actions) continue
    environments.push(appEnvId)
    scaled = impact.actions
    containersStarted += impact.containersStarted ?? 0
  }
  return environments.length === 0
    ? {}
    : { actions: [...actions, ...scaled], environments, containersStarted }
}
