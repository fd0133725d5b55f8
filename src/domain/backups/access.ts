import { counted } from '../../amounts.ts'
import type { Backup, DatabaseAccess } from './backup.ts'

/**
 * What a restore of a PostgreSQL backup keeps and loses of roles and settings, in sentences. Whether the database has
 * the roles is known only when it is restored, so losses elsewhere are named as they would be without them.
 */
export function accessEffects(backup: Backup, appEnvId: string): string[] {
  if (backup.format !== 'pg_dump') return []
  const kept =
    'Owner, connection limit, grants to connect and settings (also of roles) stay as the database has them now.'
  if (!backup.access)
    return [
      kept,
      'Loses all grants and revocations, owners, default privileges and policies of roles: the backup was taken by a version that left them out. Everything belongs to the user of the database afterwards, and functions that were revoked from public are open to every role again.',
    ]
  const { roles } = backup.access
  const names = roles.map(({ name }) => name).join(', ')
  if (backup.appEnvId === appEnvId)
    return roles.length === 0
      ? [kept]
      : [kept, `Keeps grants, owners and default privileges of the roles that it still has (${names}).`]
  return [kept, ...roles.map(roleEffect), ...settingsEffects(backup.access)]
}

function roleEffect({ name, owns, granted }: DatabaseAccess['roles'][number]): string {
  const what = [
    ...(owns > 0
      ? [`the ownership of ${counted(owns, 'object')}, which pass to the user of the database`]
      : []),
    ...(granted > 0
      ? [`${counted(granted, 'entry', 'entries')} in grants, default privileges and policies`]
      : []),
  ]
  return `Loses what the role ${name} had, unless the database has a role of that name: ${what.join('; ')}.`
}

function settingsEffects({ settings, limitsConnections }: DatabaseAccess): string[] {
  return [
    ...(settings.length > 0 ? [`Does not bring the settings of the original: ${settings.join(', ')}.`] : []),
    ...(limitsConnections ? ['Does not bring who may connect to the original, and how often.'] : []),
  ]
}
