import type { Environment } from '../../domain/environments/environment.ts'
import type { Tx } from '../db.ts'
import { insertRemovals } from './removals.ts'
import { listContents, listLivePods } from './rollouts.ts'
import { deleteUploadsOf } from './uploads.ts'

/**
 * Removes the environment and its dependent rows, and stores what is to be removed outside the store; audit entries stay
 * (docs/interface.md#deleting-an-environment).
 */
export async function deleteEnvironment(tx: Tx, environment: Environment): Promise<void> {
  const { appEnvId } = environment
  const regions = await regionsUsed(tx, environment)
  await insertRemovals(
    tx,
    regions.map((region) => ({ kind: 'environment', subject: appEnvId, region })),
  )
  await deleteUploadsOf(tx, appEnvId)
  const tables = [
    'tokens',
    'contents',
    'rollouts',
    'pods',
    'container_counts',
    'job_attempts',
    'job_runs',
    'activities',
    'pending_authors',
    'alerts',
    'alert_contact_points',
    'alert_states',
    'alert_history',
    'remediations',
    'remediation_runs',
    'notifications',
    'database_ports',
    'variable_references',
    'restores',
    'domains',
    'app_envs',
  ] as const
  for (const table of tables) await tx.deleteFrom(table).where('app_env_id', '=', appEnvId).execute()
}

/** Every region that may have a part of it. */
async function regionsUsed(tx: Tx, environment: Environment): Promise<string[]> {
  const { appEnvId, region, servedFrom, leftVolumeIn } = environment
  const contents = await listContents(tx, appEnvId)
  const images = contents.flatMap((one) => Object.keys({ ...one.images, ...one.removedImages }))
  const pods = (await listLivePods(tx, appEnvId)).map((one) => one.region)
  const all = [region, servedFrom, leftVolumeIn, ...images, ...pods]
  return [...new Set(all.filter((one) => one !== undefined))]
}
