import { isDeepStrictEqual } from 'node:util'
import type { ImpactStatement } from '../../contract/impact.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Context } from '../core/handler.ts'
import { moveImpact } from './change-region.ts'
import { scaleImpact } from './container-impact.ts'

/** Scaling and a move take effect at once; everything else is pending. */
export async function updateImpact(
  context: Context,
  target: EnvironmentTarget,
  draft: Environment,
): Promise<ImpactStatement> {
  const { environment, app } = target
  const scaled = await scaleImpact(context, target, draft)
  const moved = draft.region === environment.region ? {} : await moveImpact(context, target, draft)
  const { saved, name } = draft
  const containers = app.isDatabase ? saved.containers : environment.saved.containers
  const isPending =
    name !== environment.name || !isDeepStrictEqual({ ...saved, containers }, environment.saved)
  const actions = [...(scaled.actions ?? []), ...(moved.actions ?? [])]
  return {
    ...scaled,
    ...moved,
    ...(actions.length > 0
      ? { actions: [...(isPending ? (['change-settings'] as const) : []), ...actions] }
      : {}),
  }
}
