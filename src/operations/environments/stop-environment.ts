import type { ImpactStatement } from '../../contract/impact.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import { cancelMove } from '../../domain/environments/volume-move.ts'
import { listActiveJobRuns } from '../../store/repositories/job-runs.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Context } from '../core/handler.ts'
import { cancelRollout } from '../deployments/begin-rollout.ts'
import { cancelRun } from '../jobs/cancel-job-run.ts'
import { endImpact } from './container-impact.ts'
import { noteActivity } from './note-activity.ts'

/** Ends everything that runs. Changes `draft`, which the caller saves. */
export async function stopEnvironment(
  context: Context,
  target: Pick<EnvironmentTarget, 'environment' | 'app' | 'account'>,
  draft: Environment,
): Promise<{ impact: ImpactStatement; effect: string }> {
  await cancelRollout(context, draft, 'The environment was stopped before the rollout finished.')
  const runs = await listActiveJobRuns(context.tx, draft.appEnvId)
  const impact = await endImpact(context, target, ['stop'], runs)
  for (const run of runs) await cancelRun(context, run)
  // The old region has the data, so the environment stays there.
  const stays = draft.applied.useVolume ? draft.servedFrom : undefined
  const gaveUp = stays === undefined ? '' : ` The move to ${draft.region} is given up.`
  if (stays !== undefined) cancelMove(draft, stays)
  draft.desiredState = 'stopped'
  draft.status = 'STOPPED'
  await noteActivity(context, draft.appEnvId, {
    activity: 'STOP',
    status: 'DONE',
    version: draft.currentVersion,
  })
  const effect = `Every container ends after its requests in flight; no requests are served until start-app-env.${gaveUp}`
  return { impact, effect }
}
