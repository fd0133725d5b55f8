import type { App } from '../../contract/apps.ts'
import {
  type BackupResponse,
  type BackupStatus,
  backupFormats,
  type RestoreResponse,
} from '../../contract/backups.ts'
import { AppError } from '../../errors.ts'
import { isDatabase } from '../apps/presets.ts'
import type { Environment } from '../environments/environment.ts'

export interface Backup {
  backupId: string
  appEnvId: string
  accountId: string
  envName: string
  dockerPreset: string
  dockerPresetVersion: string
  status: BackupStatus
  format: BackupResponse['format']
  sizeBytes: number | null
  sha256: string | null
  failure: string | null
  createdBy: string | null
  createdAt: string
  finishedAt: string | null
}

export interface Restore {
  restoreId: string
  backupId: string
  appEnvId: string
  accountId: string
  status: BackupStatus
  failure: string | null
  createdBy: string | null
  createdAt: string
  finishedAt: string | null
}

/** Limits disk usage; users delete old backups. */
export const mostBackups = 30

export function isOver({ status }: { status: BackupStatus }): boolean {
  return status === 'SUCCEEDED' || status === 'FAILED'
}

/** The backup format of a preset; throws for presets without backups. */
export function backupFormat(app: Pick<App, 'dockerPreset'>): BackupResponse['format'] {
  const format = (backupFormats as Partial<Record<string, BackupResponse['format']>>)[app.dockerPreset]
  if (format) return format
  throw new AppError('invalid', 'Backups are for PostgreSQL, MySQL and Redis', {
    details: isDatabase(app.dockerPreset)
      ? `This app uses the ${app.dockerPreset} preset. Use the database's own tools with the URL of get-app-env.`
      : 'This app is not a database. list-app-envs shows the preset of each environment.',
  })
}

/** Only an environment that runs, or is about to, can be backed up or restored. */
export function checkServes({
  desiredState,
  cliEnvName,
}: Pick<Environment, 'desiredState' | 'cliEnvName'>): void {
  if (desiredState === 'running') return
  throw new AppError('invalid', 'The environment is stopped', {
    details: `Start ${cliEnvName} with start-app-env first.`,
  })
}

/** Rejects a backup of another engine, and an incomplete backup. */
export function checkRestorable(backup: Backup, app: Pick<App, 'dockerPreset'>): void {
  if (backup.dockerPreset !== app.dockerPreset) {
    throw new AppError(
      'invalid',
      `A ${backup.dockerPreset} backup needs a ${backup.dockerPreset} environment`,
      {
        details: `This one is ${app.dockerPreset}. Create an environment of the same preset.`,
      },
    )
  }
  if (backup.status !== 'SUCCEEDED') {
    throw new AppError('invalid', `The backup is ${backup.status}`, {
      details: backup.failure ?? 'Wait until list-app-env-backups says SUCCEEDED.',
    })
  }
}

/** Relative to the backup folder. */
export function backupFileName({ appEnvId, backupId, format }: Backup): string {
  return `${appEnvId}/${backupId}.${format === 'pg_dump' ? 'dump' : format}`
}

export function backupResponse(backup: Backup): BackupResponse {
  const { createdBy: _createdBy, ...rest } = backup
  return { ...rest, file: backup.status === 'SUCCEEDED' ? `backups/${backupFileName(backup)}` : null }
}

export function restoreResponse({
  accountId: _accountId,
  createdBy: _createdBy,
  ...rest
}: Restore): RestoreResponse {
  return rest
}
