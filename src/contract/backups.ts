import { z } from 'zod'
import { accountId, acted, environmentRef, id, isoTime } from './fields.ts'
import { operation } from './operation.ts'

export const backupStatuses = ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED'] as const
export type BackupStatus = (typeof backupStatuses)[number]

/**
 * A copy of a database in one file below the platform's home. `format`: what reads it (`pg_dump`'s custom format,
 * SQL through gzip, Redis' own dump). Size, hash and file are there once it SUCCEEDED, and only then.
 */
export const backup = z.object({
  backupId: z.string(),
  appEnvId: z.string(),
  accountId: z.string(),
  envName: z.string(),
  dockerPreset: z.string(),
  dockerPresetVersion: z.string(),
  status: z.enum(backupStatuses),
  format: z.enum(['pg_dump', 'sql.gz', 'rdb']),
  sizeBytes: z.number().nullable(),
  sha256: z.string().nullable(),
  /** Relative to LONGSHORE_HOME. */
  file: z.string().nullable(),
  createdAt: isoTime,
  finishedAt: isoTime.nullable(),
  failure: z.string().nullable(),
})
export type BackupAnswer = z.output<typeof backup>

/** One act of bringing a backup into an environment. */
export const restore = z.object({
  restoreId: z.string(),
  backupId: z.string(),
  appEnvId: z.string(),
  status: z.enum(backupStatuses),
  createdAt: isoTime,
  finishedAt: isoTime.nullable(),
  failure: z.string().nullable(),
})
export type RestoreAnswer = z.output<typeof restore>

const backupId = id
/** A read backup names more of itself; written back it is not asked for. */
const ignored = ['accountId', 'envName']

export const createAppEnvBackup = operation({
  id: 'create-app-env-backup',
  method: 'POST',
  path: '/app-env/backup',
  summary: 'Copies a PostgreSQL, MySQL or Redis database into a file while it serves; backups outlive it.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef }),
  output: z.object({ ...acted, backup }),
})

export const listAppEnvBackups = operation({
  id: 'list-app-env-backups',
  method: 'GET',
  path: '/app-env/backups',
  summary:
    'Lists backups of an account, also those of deleted databases, and the last 20 restores, newest first.',
  policy: { on: 'account' },
  input: z.strictObject({ accountId, appEnvId: id.optional() }),
  output: z.object({ backups: z.array(backup), restores: z.array(restore) }),
})

export const getAppEnvBackup = operation({
  id: 'get-app-env-backup',
  method: 'GET',
  path: '/app-env/backup',
  summary: 'Reads a backup and its restores: status, size, SHA-256, why it failed.',
  policy: { on: 'backup' },
  input: z.strictObject({ backupId }),
  ignored,
  output: z.object({ backup, restores: z.array(restore) }),
  // An agent sees the same in the list.
  peopleOnly: true,
})

export const restoreAppEnvBackup = operation({
  id: 'restore-app-env-backup',
  method: 'POST',
  path: '/app-env/restore',
  summary: "Replaces a database environment's data by a backup's. For a copy, create an environment first.",
  policy: { on: 'environment', needs: 'admin' },
  input: z.strictObject({ ...environmentRef, backupId }),
  output: z.object({ ...acted, restore }),
})

export const deleteAppEnvBackup = operation({
  id: 'delete-app-env-backup',
  method: 'DELETE',
  path: '/app-env/backup',
  summary: 'Deletes a backup and its file for good.',
  policy: { on: 'backup', needs: 'admin' },
  input: z.strictObject({ backupId }),
  output: z.object({ message: z.string() }),
  peopleOnly: true,
})
