import type { Environment } from '../../domain/environments/environment.ts'
import { checkContentMoves } from '../../domain/environments/move.ts'
import { findContent, findRollout } from '../../store/repositories/rollouts.ts'
import type { Context } from '../core/handler.ts'
import { beginRollout } from '../deployments/begin-rollout.ts'

/**
 * 3.3: changes the region immediately; the serving containers stay in the old region until the new ones serve. Only
 * applied settings move; pending changes stay pending.
 */
export async function changeRegion(context: Context, draft: Environment, region: string): Promise<string> {
  const from = draft.servedFrom ?? draft.region
  draft.region = region
  draft.changingRegion = true
  delete draft.servedFrom
  const rolloutId = draft.wantedRolloutId ?? draft.currentRolloutId
  const rollout = rolloutId === null ? null : await findRollout(context.tx, rolloutId)
  const content = rollout && (await findContent(context.tx, rollout.contentId))
  const regions = context.installation.regions()
  if (content) checkContentMoves(content, region, regions)
  if (!content || draft.desiredState === 'stopped') return `It next starts in ${region}.`
  if (draft.currentRolloutId !== null && region !== from) draft.servedFrom = from
  const settings = draft.wantedRolloutId === null ? draft.applied : rollout.settings
  await beginRollout(context, draft, content, { settings, activity: 'CHANGE_REGION' })
  const isElsewhere = regions.some(
    (one) => one.engine === 'kubernetes' && [from, region].includes(one.region),
  )
  const change = isElsewhere
    ? 'Then get-app-env shows its new address; the old one answers for another minute.'
    : 'Its address stays.'
  return `Version ${content.version} starts in ${region}; ${from} serves until it does. ${change}`
}
