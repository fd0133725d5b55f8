import { databaseSecretName, newDatabaseAccess, newSecrets } from '../domain/database-access.ts'
import { databaseImage, databasePresetOf } from '../domain/database-presets.ts'
import type { Environment } from '../domain/environment.ts'
import { addContent, beginRollout } from './begin-rollout.ts'
import type { Context } from './handler.ts'

/**
 * Databases deploy at creation (contract.md 11): generates the credentials and wishes the first version. D4: the
 * image of that moment stays for the life of the database. Changes `environment`, which the caller inserts.
 */
export async function deployDatabase(
  context: Context,
  environment: Environment,
  dockerPreset: string,
): Promise<void> {
  const { appEnvId, cliEnvName } = environment
  const sealed = context.secrets.seal(JSON.stringify(newSecrets()), databaseSecretName(appEnvId))
  environment.database = newDatabaseAccess(dockerPreset, cliEnvName, sealed)
  const preset = databasePresetOf(dockerPreset)
  const version = preset.versions.find((known) => known.key === environment.dockerPresetVersion)
  if (!version) throw new Error(`${dockerPreset} has no version ${environment.dockerPresetVersion}`)
  const image = databaseImage(version.image, context.installation.databaseImageSource)
  const content = await addContent(context, environment, {
    type: 'IMAGE',
    image,
    uploadId: null,
    gitCommitId: null,
  })
  await beginRollout(context, environment, content, { settings: environment.saved, activity: 'CREATE' })
}
