import type { AppRecord } from '../../domain/apps/app-settings.ts'
import { databaseSecretName, newDatabaseAccess, newSecrets } from '../../domain/databases/credentials.ts'
import { databasePresetOf, offeredVersions, presetFrom } from '../../domain/databases/presets.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import type { Context } from '../core/handler.ts'
import { addContent, beginRollout } from '../deployments/begin-rollout.ts'

/**
 * A database deploys at creation (docs/interface.md#database-presets): generates its credentials. D4: its image never
 * changes afterwards. Changes `environment`, which the caller inserts.
 */
export async function deployDatabase(
  context: Context,
  environment: Environment,
  app: AppRecord,
): Promise<void> {
  const { appEnvId, cliEnvName } = environment
  const { dockerPreset } = app
  const sealed = context.secrets.seal(JSON.stringify(newSecrets()), databaseSecretName(appEnvId))
  environment.database = newDatabaseAccess(dockerPreset, cliEnvName, sealed)
  const { databaseAvailability, databaseImageSource } = context.installation
  const preset = presetFrom(databaseImageSource, databasePresetOf(dockerPreset))
  const versions = offeredVersions(preset, databaseAvailability(environment.region).get(preset.dockerPreset))
  const version = versions.find((known) => known.key === environment.dockerPresetVersion)
  if (!version) throw new Error(`${dockerPreset} has no version ${environment.dockerPresetVersion}`)
  const { image } = version
  const content = await addContent(context, app, environment, {
    type: 'IMAGE',
    image,
    uploadId: null,
    gitCommitId: null,
  })
  await beginRollout(context, environment, content, { settings: environment.saved, activity: 'CREATE' })
}
