import { type DatabaseSecrets, databaseSecretName } from '../../domain/databases/credentials.ts'
import type { Environment, Settings } from '../../domain/environments/environment.ts'
import { createMask, type Mask } from '../../domain/environments/secret-masker.ts'
import type { Context } from '../core/handler.ts'

/**
 * Hides secret values in text that a diagnosis quotes: a line was masked when it was kept, with the secrets of that
 * time only. Mask before anything is cut: the beginning of a secret at a cut is not recognized.
 */
export function evidenceMask(
  { secrets }: Context,
  { appEnvId, database }: Environment,
  settings: readonly Settings[],
): Mask {
  const sealed = new Map(
    settings
      .flatMap(({ envVars }) => envVars)
      .filter(({ isSecret }) => isSecret)
      .map(({ name, value }) => [value, `${appEnvId}/${name}`]),
  )
  const values = [...sealed].map(([value, boundTo]) => secrets.open(value, boundTo))
  if (database) {
    for (const one of [database.secrets, database.previousSecrets]) {
      if (one === undefined) continue
      const opened: DatabaseSecrets = JSON.parse(secrets.open(one, databaseSecretName(appEnvId)))
      values.push(opened.password, opened.adminPassword)
    }
  }
  return createMask(values)
}
