import type { ImpactStatement } from '../../contract/impact.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import { checkContentMoves } from '../../domain/environments/move.ts'
import { refuseWhileCopying } from '../../domain/environments/volume-move.ts'
import { findContent, findRollout } from '../../store/repositories/rollouts.ts'
import { checkBackupCount } from '../backups/check-backup-count.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Context } from '../core/handler.ts'
import { beginRollout } from '../deployments/begin-rollout.ts'
import { rolloutImpact } from './container-impact.ts'
import { settingsInForce } from './responses.ts'

/**
 * 3.3: changes the region immediately; the serving containers stay in the old region until the new ones serve, or until a
 * volume is copied. Only applied settings move; pending changes stay pending.
 */
export async function changeRegion(context: Context, draft: Environment, region: string): Promise<string> {
  const { tx, installation } = context
  refuseWhileCopying(draft)
  const from = draft.servedFrom ?? draft.region
  const regions = installation.regions()
  draft.region = region
  draft.changingRegion = true
  delete draft.servedFrom
  // A volume that an earlier move left in an unreachable region stays there.
  delete draft.leftVolumeIn
  const rolloutId = draft.wantedRolloutId ?? draft.currentRolloutId
  const rollout = rolloutId === null ? null : await findRollout(tx, rolloutId)
  const content = rollout && (await findContent(tx, rollout.contentId))
  if (content) checkContentMoves(content, region, regions)
  if (!content || draft.desiredState === 'stopped') return `It next starts in ${region}.`
  if (draft.currentRolloutId !== null && region !== from) draft.servedFrom = from
  const settings = draft.wantedRolloutId === null ? draft.applied : rollout.settings
  await beginRollout(context, draft, content, { settings, activity: 'CHANGE_REGION' })
  const isElsewhere = regions.some(
    (one) => one.engine === 'kubernetes' && [from, region].includes(one.region),
  )
  if (draft.volumeMove) {
    await checkBackupCount(tx, draft.appEnvId)
    const address = isElsewhere ? ' at the new address that get-app-env then shows' : ''
    return `Version ${content.version} is made ready in ${region} while ${from} serves. Then it is DOWN while a backup of its volume is taken and restored in ${region}, where it starts${address}. If that fails, it starts in ${from} again. The backup stays until you delete it.`
  }
  const change = isElsewhere
    ? 'Then get-app-env shows its new address; the old one answers for another minute.'
    : 'Its address stays.'
  return `Version ${content.version} starts in ${region}; ${from} serves until it does. ${change}`
}

/** The impact of `changeRegion` on `draft`: it starts in the new region if it runs. */
export async function moveImpact(
  context: Context,
  target: EnvironmentTarget,
  draft: Environment,
): Promise<ImpactStatement> {
  if (draft.wantedRolloutId === target.environment.wantedRolloutId) return { actions: ['change-settings'] }
  const settings = await settingsInForce(context, target.environment)
  const { undo: _, ...rollout } = await rolloutImpact(context, target, ['deploy'], { settings })
  return rollout
}
