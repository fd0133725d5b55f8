import { keptContents } from '../../domain/environments/kept-images.ts'
import type { Db, Tx } from '../../store/db.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { listActiveJobRuns } from '../../store/repositories/job-runs.ts'
import { listContents, listRolloutStates } from '../../store/repositories/rollouts.ts'
import {
  deleteUploads,
  listDeployedUploads,
  listEnvironmentsWithSources,
} from '../../store/repositories/uploads.ts'

/**
 * Deletes the uploaded sources of versions that are too old for a rollback, where an environment has more than
 * `keptVersions`: nothing builds them again, and uploads of many deployments would fill the disk.
 */
export async function forgetOldSources(db: Db, keptVersions: number): Promise<void> {
  const appEnvIds = await db.read((tx) => listEnvironmentsWithSources(tx, keptVersions))
  for (const appEnvId of appEnvIds) {
    const find = (tx: Tx) => oldSources(tx, appEnvId, keptVersions)
    // Found again in the transaction that deletes them: a version may have been deployed meanwhile.
    if ((await db.read(find)).length > 0) await db.write(async (tx) => deleteUploads(tx, await find(tx)))
  }
}

async function oldSources(tx: Tx, appEnvId: string, keptVersions: number): Promise<string[]> {
  const environment = await findEnvironment(tx, { appEnvId })
  if (!environment) return []
  const contents = await listContents(tx, appEnvId)
  const rollouts = await listRolloutStates(tx, appEnvId)
  const runs = await listActiveJobRuns(tx, appEnvId)
  const inUse = new Set(runs.map(({ snapshot }) => snapshot.contentId))
  const kept = keptContents({ environment, contents, rollouts, inUse, keptVersions })
  const needed = new Set(contents.map(({ contentId, uploadId }) => (kept.has(contentId) ? uploadId : null)))
  return (await listDeployedUploads(tx, appEnvId)).filter((uploadId) => !needed.has(uploadId))
}
