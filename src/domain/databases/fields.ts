import type { Host } from '../../contract/app-envs.ts'
import { type DatabaseAccess, type DatabaseSecrets, databaseUser } from './credentials.ts'

/** The fields of a managed database that variables of other environments may refer to. */
export const databaseFields = ['url', 'host', 'port', 'user', 'password', 'name'] as const
type DatabaseField = (typeof databaseFields)[number]

export function isDatabaseField(field: string): field is DatabaseField {
  return (databaseFields as readonly string[]).includes(field)
}

/** Whether only an admin may read the field (A3). */
export function isSecretField(field: DatabaseField): boolean {
  return field === 'url' || field === 'password'
}

/**
 * The value of a field for the container that takes writes; null while it has no address. `hosts` contain passwords;
 * containers on the `sameNetwork` use the internal name.
 */
export function databaseFieldValue(
  field: DatabaseField,
  {
    access,
    secrets,
    hosts,
    preset,
  }: { access: DatabaseAccess; secrets: DatabaseSecrets; hosts: readonly Host[]; preset: string },
  sameNetwork: boolean,
): string | null {
  if (field === 'password') return secrets.password
  if (field === 'user') return databaseUser(preset, access)
  if (field === 'name') return access.database
  const host = (sameNetwork && hosts.find(({ kind }) => kind === 'internal')) || hosts[0]
  if (!host) return null
  return field === 'url' ? host.url : field === 'host' ? host.host : new URL(host.url).port
}
