import { keptContents } from '../../domain/environments/kept-images.ts'
import type { Db, Tx } from '../../store/db.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { listActiveJobRuns } from '../../store/repositories/job-runs.ts'
import { listContents, listRolloutStates } from '../../store/repositories/rollouts.ts'
import { forgetDeployedUploads, listEnvironmentsWithSources } from '../../store/repositories/uploads.ts'

/**
 * Deletes the uploaded sources of versions that are too old for a rollback, where an environment has more than
 * `keptVersions`: nothing builds them again, and uploads of many deployments would fill the disk.
 */
export async function forgetOldSources(db: Db, keptVersions: number): Promise<void> {
  const appEnvIds = await db.read((tx) => listEnvironmentsWithSources(tx, keptVersions))
  for (const appEnvId of appEnvIds) await db.write((tx) => forgetOf(tx, appEnvId, keptVersions))
}

async function forgetOf(tx: Tx, appEnvId: string, keptVersions: number): Promise<void> {
  const environment = await findEnvironment(tx, { appEnvId })
  if (!environment) return
  const contents = await listContents(tx, appEnvId)
  const rollouts = await listRolloutStates(tx, appEnvId)
  const runs = await listActiveJobRuns(tx, appEnvId)
  const inUse = new Set(runs.map(({ snapshot }) => snapshot.contentId))
  const kept = keptContents({ environment, contents, rollouts, inUse, keptVersions })
  const sources = contents.flatMap(({ contentId, uploadId }) => (kept.has(contentId) ? (uploadId ?? []) : []))
  await forgetDeployedUploads(tx, appEnvId, sources)
}
