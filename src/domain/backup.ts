import type { App } from '../contract/apps.ts'
import type { BackupAnswer, BackupStatus, RestoreAnswer } from '../contract/backups.ts'
import { AppError } from '../errors.ts'
import type { Environment } from './environment.ts'

export interface Backup {
  backupId: string
  appEnvId: string
  accountId: string
  envName: string
  dockerPreset: string
  dockerPresetVersion: string
  status: BackupStatus
  format: BackupAnswer['format']
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

/** More would fill the disk unseen; people delete old ones. */
export const mostBackups = 30

const formats: Partial<Record<string, BackupAnswer['format']>> = {
  POSTGRESQL: 'pg_dump',
  MYSQL: 'sql.gz',
  REDIS: 'rdb',
}

export function isOver({ status }: { status: BackupStatus }): boolean {
  return status === 'SUCCEEDED' || status === 'FAILED'
}

/** How a preset's backup is written; refuses presets that have none. */
export function backupFormat(app: Pick<App, 'dockerPreset'>): BackupAnswer['format'] {
  const format = formats[app.dockerPreset]
  if (format) return format
  throw new AppError('invalid', 'Backups are for PostgreSQL, MySQL and Redis', {
    details: `This app uses the ${app.dockerPreset} preset. Use the database's own tools with the URL of get-app-env.`,
  })
}

/** A backup is taken of, and brought into, what serves or is about to. */
export function checkServes({ wish, cliEnvName }: Pick<Environment, 'wish' | 'cliEnvName'>): void {
  if (wish === 'running') return
  throw new AppError('invalid', 'The environment is stopped', {
    details: `Start ${cliEnvName} with start-app-env first.`,
  })
}

/** The data of one engine means nothing to another one, and half a backup nothing to anybody. */
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

/** Below the folder of backups. */
export function backupFileName({ appEnvId, backupId, format }: Backup): string {
  return `${appEnvId}/${backupId}.${format === 'pg_dump' ? 'dump' : format}`
}

export function backupAnswer(backup: Backup): BackupAnswer {
  const { createdBy: _createdBy, ...rest } = backup
  return { ...rest, file: backup.status === 'SUCCEEDED' ? `backups/${backupFileName(backup)}` : null }
}

export function restoreAnswer({
  accountId: _accountId,
  createdBy: _createdBy,
  ...rest
}: Restore): RestoreAnswer {
  return rest
}
