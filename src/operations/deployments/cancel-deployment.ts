import { counted } from '../../amounts.ts'
import { cancelDeployment } from '../../contract/deployments.ts'
import type { ImpactStatement } from '../../contract/impact.ts'
import type { Environment, Rollout } from '../../domain/environments/environment.ts'
import { cancelMove, endMove, refuseWhileCopying } from '../../domain/environments/volume-move.ts'
import { AppError } from '../../errors.ts'
import { findRollout, listLivePods } from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { type Context, handler, noImpact } from '../core/handler.ts'
import { draftOf, saveChange } from '../environments/change-environment.ts'
import { environmentResponse } from '../environments/responses.ts'
import { cancelRollout } from './begin-rollout.ts'

export default handler(cancelDeployment, async (context, { contentId }, target) => {
  const { environment } = target
  const rollout = await rolloutUnderWay(context, environment)
  const serving = servingOf(environment)
  if (rollout === null) {
    const answer = { contentId: null, version: null, servingVersion: environment.currentVersion }
    return {
      answer: { ...environmentResponse(environment, 'No deployment is under way'), ...answer },
      impact: noImpact,
      effects: ['No effect: no deployment is under way.'],
    }
  }
  if (contentId !== undefined && contentId !== rollout.contentId) {
    throw new AppError('conflict', 'Another version is being deployed', {
      details: `It is version ${rollout.version} (${rollout.contentId}). Send its contentId, or omit contentId, to cancel it.`,
    })
  }
  refuseWhileCopying(environment)
  const draft = draftOf(environment)
  await cancelRollout(context, draft, 'It was canceled before it finished.')
  await goBack(context, draft, serving !== null)
  const impact = await cancelImpact(context, target, rollout, serving !== null)
  const change = await saveChange(context, target, draft)
  const rest = serving === null ? 'The environment is stopped' : `Version ${serving} keeps serving`
  const ended = impact.containersEnded ?? 0
  return {
    answer: {
      ...environmentResponse(draft, `Version ${rollout.version} is canceled. ${rest}`),
      contentId: rollout.contentId,
      version: rollout.version,
      servingVersion: serving,
    },
    change,
    impact,
    effects: [
      `Cancels the deployment of version ${rollout.version}. ${rest}.`,
      ...(ended === 0 ? [] : [`${counted(ended, 'container ends', 'containers end')}.`]),
    ],
    wake: [draft.appEnvId],
  }
})

async function rolloutUnderWay({ tx }: Context, environment: Environment): Promise<Rollout | null> {
  const { wantedRolloutId } = environment
  const rollout = wantedRolloutId === null ? null : await findRollout(tx, wantedRolloutId)
  return rollout?.status === 'BUILDING' || rollout?.status === 'DEPLOYING' ? rollout : null
}

/** The version that serves beside the deployment; null for a first one. */
function servingOf({ status, currentRolloutId, currentVersion }: Environment): number | null {
  return status === 'UPDATING' && currentRolloutId !== null ? currentVersion : null
}

/** The environment stays with its last good version, and in that version's region; without one it stops. */
async function goBack({ tx }: Context, draft: Environment, serves: boolean): Promise<void> {
  draft.status = serves ? 'RUNNING' : 'STOPPED'
  draft.desiredState = serves ? 'running' : 'stopped'
  const good = draft.currentRolloutId && (await findRollout(tx, draft.currentRolloutId))
  if (draft.changingRegion && good) cancelMove(draft, good.region)
  else endMove(draft)
}

/** Containers of the canceled version end. Where they replaced one that uses the same volume, that one starts again. */
async function cancelImpact(
  { tx }: Context,
  { environment, app }: EnvironmentTarget,
  { rolloutId }: Rollout,
  serves: boolean,
): Promise<ImpactStatement> {
  const live = (await listLivePods(tx, environment.appEnvId)).filter(
    ({ desiredState }) => desiredState === 'run',
  )
  const ended = serves ? live.filter((pod) => pod.rolloutId === rolloutId) : live
  const kept = live.length - ended.length
  const wanted = serves && !app.isFunction && !app.isJob ? environment.applied.containers : 0
  const containersStarted = Math.max(0, wanted - kept)
  return {
    actions: [serves ? 'rollback' : 'stop'],
    containersEnded: ended.length,
    containersStarted,
    downtimeSeconds: serves && containersStarted > 0 ? null : 0,
    undo: serves ? 'redeploy' : 'none',
  }
}
