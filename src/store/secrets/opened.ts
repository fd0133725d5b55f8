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

/** Every secret of these variables and of the database, for a mask. Settings that share a sealed value open it once. */
export function secretValues(
  secrets: SecretBox,
  { appEnvId, database }: { appEnvId: string; database?: DatabaseAccess },
  variables: readonly StoredValue[],
): string[] {
  const sealed = new Map(variables.filter(({ isSecret }) => isSecret).map((one) => [one.value, one]))
  const passwords = [database?.secrets, database?.previousSecrets].flatMap((one) => {
    if (one === undefined) return []
    const { password, adminPassword } = openDatabaseSecrets(secrets, appEnvId, one)
    return [password, adminPassword]
  })
  return [...[...sealed.values()].map((one) => openVariable(secrets, appEnvId, one)), ...passwords]
}
