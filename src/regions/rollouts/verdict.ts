import type { Environment, Rollout } from '../../domain/environments/environment.ts'
import { sourcesOf } from '../../domain/environments/variables.ts'
import { giveUpRestored } from '../../domain/environments/version-settings.ts'
import { cancelMove, endMove } from '../../domain/environments/volume-move.ts'
import type { Tx } from '../../store/db.ts'
import { insertActivity } from '../../store/repositories/activities.ts'
import { findContent, findRollout, saveRollout } from '../../store/repositories/rollouts.ts'
import { saveSources } from '../../store/repositories/variable-references.ts'

/** The last good version keeps serving; without one the environment stops (3.1). The caller saves the environment. */
export async function giveUp(
  tx: Tx,
  environment: Environment,
  rollout: Rollout,
  failure: { reason: string; message: string },
  now: string,
): Promise<void> {
  const { savedBefore: _, ...kept } = rollout
  await saveRollout(tx, { ...kept, status: 'FAILED', failure })
  environment.wantedRolloutId = null
  if (giveUpRestored(environment, rollout))
    await saveSources(tx, environment.appEnvId, sourcesOf(environment.saved))
  const goodServes = environment.status === 'UPDATING' && environment.currentRolloutId !== null
  environment.status = goodServes ? 'RUNNING' : 'STOPPED'
  environment.desiredState = goodServes ? 'running' : 'stopped'
  await stay(tx, environment)
  const details = `${failure.reason}: ${failure.message}`
  await noteVerdict(tx, rollout, now, { status: 'FAILED', details })
}

/** Ends a failed move: the environment stays in the region of its last good version. */
async function stay(tx: Tx, environment: Environment): Promise<void> {
  const serving = environment.currentRolloutId && (await findRollout(tx, environment.currentRolloutId))
  if (environment.changingRegion && serving) cancelMove(environment, serving.region)
  else endMove(environment)
}

/** Ends the rollout's entry in the history. */
export async function noteVerdict(
  tx: Tx,
  { appEnvId, activity, contentId, version, createdBy }: Rollout,
  timestamp: string,
  { status, details }: { status: string; details: string | null },
): Promise<void> {
  const content = await findContent(tx, contentId)
  await insertActivity(tx, appEnvId, {
    ...{ activity, contentId, version, status, timestamp, userId: createdBy },
    ...{ gitCommitId: content?.gitCommitId ?? null, details },
  })
}
