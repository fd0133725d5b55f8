import {
  type DatabaseAccess,
  type DatabaseSecrets,
  databaseSecretName,
} from '../../domain/databases/credentials.ts'
import type { StoredVariable } from '../../domain/environments/environment.ts'
import type { SecretBox } from './secret-box.ts'

type StoredValue = Pick<StoredVariable, 'name' | 'value' | 'isSecret'>

/** The clear value of a variable of the environment (E2). */
export function openVariable(
  secrets: SecretBox,
  appEnvId: string,
  { name, value, isSecret }: StoredValue,
): string {
  return isSecret ? secrets.open(value, `${appEnvId}/${name}`) : value
}

export function openDatabaseSecrets(secrets: SecretBox, appEnvId: string, sealed: string): DatabaseSecrets {
  return JSON.parse(secrets.open(sealed, databaseSecretName(appEnvId)))
}

/**
 * Every secret of the database and of these variables, for a mask. Each is opened when it is requested, and settings that
 * share a sealed value open it once. Short ones come first: a mask has a limit, which one long value must not take up.
 */
export function* secretValues(
  secrets: SecretBox,
  { appEnvId, database }: { appEnvId: string; database?: DatabaseAccess },
  variables: readonly StoredValue[],
): Generator<string> {
  for (const sealed of [database?.secrets, database?.previousSecrets]) {
    if (sealed === undefined) continue
    const { password, adminPassword } = openDatabaseSecrets(secrets, appEnvId, sealed)
    yield* [password, adminPassword]
  }
  const opened = new Set<string>()
  for (const one of [...variables].sort((a, b) => a.value.length - b.value.length)) {
    if (!one.isSecret || opened.has(one.value)) continue
    opened.add(one.value)
    yield openVariable(secrets, appEnvId, one)
  }
}
