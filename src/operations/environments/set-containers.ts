import { counted } from '../../amounts.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import { checkVolumeContainers } from '../../domain/environments/volume.ts'
import type { Context } from '../core/handler.ts'
import { changeWantedSettings } from '../deployments/begin-rollout.ts'
import { noteActivity } from './note-activity.ts'

/**
 * Sets the number of containers: for an app immediately, for a database as a pending change (3.3).
 * Changes `draft`; returns a sentence that describes the effect.
 */
export async function setContainers(
  context: Context,
  draft: Environment,
  app: { isDatabase: boolean },
  containers: number,
): Promise<string> {
  const before = draft.saved.containers
  draft.saved.containers = containers
  checkVolumeContainers(draft)
  if (!app.isDatabase) {
    draft.applied.containers = containers
    await changeWantedSettings(context, draft, { containers })
  }
  await noteActivity(context, draft.appEnvId, {
    activity: 'SCALE',
    status: 'DONE',
    version: draft.currentVersion,
    details: `${before} to ${containers} containers`,
  })
  return app.isDatabase
    ? `Saved as pending: ${before} to ${counted(containers, 'container')} at apply-app-env-changes`
    : `Scaling from ${before} to ${counted(containers, 'container')}`
}
