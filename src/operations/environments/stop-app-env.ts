import { stopAppEnv } from '../../contract/app-env-actions.ts'
import { cancelMove } from '../../domain/environments/volume-move.ts'
import { listActiveJobRuns } from '../../store/repositories/job-runs.ts'
import { handler, noImpact } from '../core/handler.ts'
import { cancelRollout } from '../deployments/begin-rollout.ts'
import { cancelRun } from '../jobs/cancel-job-run.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { endImpact } from './container-impact.ts'
import { noteActivity } from './note-activity.ts'
import { environmentResponse } from './responses.ts'

export default handler(stopAppEnv, async (context, _input, target) => {
  const { environment } = target
  if (environment.desiredState === 'stopped') {
    return {
      answer: environmentResponse(environment, 'The environment is already stopped'),
      impact: noImpact,
      effects: ['No effect: the environment is already stopped.'],
    }
  }
  const draft = draftOf(environment)
  await cancelRollout(context, draft)
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
  const change = await saveChange(context, target, draft)
  return {
    answer: environmentResponse(draft, 'The environment stops; start-app-env brings it back'),
    change,
    impact,
    effects: [
      `Every container ends after its requests in flight; no requests are served until start-app-env.${gaveUp}`,
    ],
    wake: [draft.appEnvId],
  }
})
