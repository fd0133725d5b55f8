import { z } from 'zod'
import { accountId, environmentRef, environmentResponse, id, isoTime } from './fields.ts'
import { operation } from './operation.ts'

export const backupStatuses = ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED'] as const
export type BackupStatus = (typeof backupStatuses)[number]

/** How a backup is written, for each preset that has backups. */
export const backupFormats = { POSTGRESQL: 'pg_dump', MYSQL: 'sql.gz', REDIS: 'rdb' } as const
/** How a backup of the volume of a regular app is written. */
export const volumeFormat = 'tar.gz'

/**
 * A copy of a database or volume in one file of the data directory. `format`: `pg_dump`'s custom format, gzipped SQL, a
 * Redis dump or the gzipped tar of a volume. Size, hash and file are null until the status is SUCCEEDED.
 */
const backup = z.object({
  backupId: z.string(),
  appEnvId: z.string(),
  accountId: z.string(),
  envName: z.string(),
  dockerPreset: z.string(),
  dockerPresetVersion: z.string(),
  status: z.enum(backupStatuses),
  format: z.enum([...Object.values(backupFormats), volumeFormat]),
  sizeBytes: z.number().nullable(),
  sha256: z.string().nullable(),
  /** Relative to LONGSHORE_HOME. */
  file: z.string().nullable(),
  createdAt: isoTime,
  finishedAt: isoTime.nullable(),
  failure: z.string().nullable(),
  /** Why it has not begun. */
  waitingFor: z.string().nullable(),
})
export type BackupResponse = z.output<typeof backup>

/** One restore of a backup into an environment. */
const restore = z.object({
  restoreId: z.string(),
  backupId: z.string(),
  appEnvId: z.string(),
  status: z.enum(backupStatuses),
  createdAt: isoTime,
  finishedAt: isoTime.nullable(),
  failure: z.string().nullable(),
  waitingFor: z.string().nullable(),
})
export type RestoreResponse = z.output<typeof restore>

const backupId = id
/** Fields that a read adds; writes ignore them. */
const ignored = ['accountId', 'envName']

export const createAppEnvBackup = operation({
  id: 'create-app-env-backup',
  method: 'POST',
  path: '/app-env/backup',
  summary:
    'Backs up a PostgreSQL, MySQL or Redis database, or a volume, to a file. Backups outlive the environment.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef }),
  output: z.object({ ...environmentResponse, backup }),
})

export const listAppEnvBackups = operation({
  id: 'list-app-env-backups',
  method: 'GET',
  path: '/app-env/backups',
  summary: 'Lists the backups of an account, also of deleted environments, and the last 20 restores.',
  policy: { on: 'account' },
  input: z.strictObject({ accountId, appEnvId: id.optional() }),
  output: z.object({ backups: z.array(backup), restores: z.array(restore) }),
})

export const getAppEnvBackup = operation({
  id: 'get-app-env-backup',
  method: 'GET',
  path: '/app-env/backup',
  summary: 'Reads a backup and its restores: status, size, SHA-256, failure reason.',
  policy: { on: 'backup' },
  input: z.strictObject({ backupId }),
  ignored,
  output: z.object({ backup, restores: z.array(restore) }),
  // list-app-env-backups shows agents the same fields.
  peopleOnly: true,
})

export const restoreAppEnvBackup = operation({
  id: 'restore-app-env-backup',
  method: 'POST',
  path: '/app-env/restore',
  summary:
    'Replaces all data of a database or volume (while stopped) with a backup. For a copy, use a new environment.',
  policy: { on: 'environment', needs: 'admin' },
  input: z.strictObject({ ...environmentRef, backupId }),
  output: z.object({ ...environmentResponse, restore }),
})

export const deleteAppEnvBackup = operation({
  id: 'delete-app-env-backup',
  method: 'DELETE',
  path: '/app-env/backup',
  summary: 'Deletes a backup and its file permanently.',
  policy: { on: 'backup', needs: 'admin' },
  input: z.strictObject({ backupId }),
  output: z.object({ message: z.string() }),
})
