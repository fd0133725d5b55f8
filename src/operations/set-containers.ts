import type { Environment } from '../domain/environment.ts'
import { checkVolumeContainers } from '../domain/volume.ts'
import { changeWantedSettings, noteActivity } from './begin-rollout.ts'
import type { Context } from './handler.ts'

/**
 * Sets how many containers an environment runs: of an app at once, of a database pending until apply (3.3).
 * Changes `draft`; resolves to what happens, in words.
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
    ? `Saved as pending: ${before} to ${containers} container(s) at apply-app-env-changes or redeploy-app-env`
    : `Scaling from ${before} to ${containers} container(s)`
}
