import { isDeepStrictEqual } from 'node:util'
import type { ImpactStatement } from '../../contract/impact.ts'
import { effectiveFunctionConfig, warmContainers } from '../../domain/functions/config.ts'
import type { Tx } from '../../store/db.ts'
import type { Account } from '../../store/repositories/accounts.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { findEnvironment, listEnvironmentIds } from '../../store/repositories/environments.ts'

/** Scale to zero decides how many containers of idle functions are kept. */
export async function accountImpact(tx: Tx, before: Account, after: Account): Promise<ImpactStatement> {
  const access = before.settings.memberEnvAccessEnabled !== after.settings.memberEnvAccessEnabled
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
    ...(scales ? await warmthImpact(tx, before, after, actions) : {}),
  }
}

async function warmthImpact(
  tx: Tx,
  before: Account,
  after: Account,
  actions: NonNullable<ImpactStatement['actions']>,
): Promise<ImpactStatement> {
  const environments: string[] = []
  let more = 0
  for (const { appEnvId, appId } of await listEnvironmentIds(tx, { accountId: before.accountId })) {
    const app = (await findApp(tx, appId))?.app
    const environment = app?.isFunction ? await findEnvironment(tx, { appEnvId }) : null
    if (environment?.desiredState !== 'running' || environment.currentRolloutId === null) continue
    const warm = ({ settings }: Account) =>
      warmContainers(effectiveFunctionConfig(environment.applied.functionConfig, settings), settings)
    if (warm(after) === warm(before)) continue
    environments.push(appEnvId)
    more += warm(after) - warm(before)
  }
  if (environments.length === 0) return {}
  return {
    actions: [...actions, more > 0 ? 'scale-up' : 'scale-down'],
    environments,
    containersStarted: Math.max(0, more),
    containersEnded: Math.max(0, -more),
  }
}
