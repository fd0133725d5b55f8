import { z } from 'zod'
import { backupStatuses } from '../../contract/backups.ts'
import { type Backup, backupFileName, type Restore } from '../../domain/backups/backup.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'
import { regionsOfEnvironment } from './environments-in-regions.ts'
import { insertRemovals } from './removals.ts'

const ofDatabase = {
  backupId: z.string(),
  appEnvId: z.string(),
  accountId: z.string(),
  status: z.enum(backupStatuses),
  createdAt: z.string(),
}

const backupRecord = recordReader<Backup>('backups', 'backupId', z.object(ofDatabase))

const restoreRecord = recordReader<Restore>(
  'restores',
  'restoreId',
  z.object({ ...ofDatabase, restoreId: z.string() }),
)

const activeStatuses = ['PENDING', 'RUNNING']

export async function findBackup(tx: Tx, backupId: string): Promise<Backup | null> {
  const row = await tx
    .selectFrom('backups')
    .select('record')
    .where('backup_id', '=', backupId)
    .executeTakeFirst()
  return backupRecord.one(row)
}

export async function insertBackup(tx: Tx, backup: Backup): Promise<void> {
  await tx
    .insertInto('backups')
    .values({
      backup_id: backup.backupId,
      app_env_id: backup.appEnvId,
      account_id: backup.accountId,
      status: backup.status,
      record: JSON.stringify(backup),
      created_at: backup.createdAt,
    })
    .execute()
}

export async function saveBackup(tx: Tx, backup: Backup): Promise<void> {
  await tx
    .updateTable('backups')
    .set({ status: backup.status, record: JSON.stringify(backup) })
    .where('backup_id', '=', backup.backupId)
    .execute()
}

/** Stores that its file goes. */
export async function deleteBackup(tx: Tx, backup: Backup): Promise<void> {
  const { backupId, appEnvId } = backup
  const region = backup.region ?? (await regionsOfEnvironment(tx, appEnvId))?.serving ?? ''
  await insertRemovals(tx, [{ kind: 'file', subject: `backups/${backupFileName(backup)}`, region }])
  await tx.deleteFrom('backups').where('backup_id', '=', backupId).execute()
  await tx.deleteFrom('restores').where('backup_id', '=', backupId).execute()
}

/** Newest first. */
export async function listBackups(
  tx: Tx,
  of: { accountId: string; appEnvId?: string | undefined },
): Promise<Backup[]> {
  let query = tx.selectFrom('backups').select('record').where('account_id', '=', of.accountId)
  if (of.appEnvId !== undefined) query = query.where('app_env_id', '=', of.appEnvId)
  const rows = await query.orderBy('created_at', 'desc').orderBy('backup_id', 'desc').execute()
  return backupRecord.all(rows)
}

/** When the newest complete backup of an environment was finished, until a time; null: there is none. */
export async function lastBackup(tx: Tx, appEnvId: string, until: string): Promise<string | null> {
  const rows = await tx
    .selectFrom('backups')
    .select('record')
    .where('app_env_id', '=', appEnvId)
    .where('status', '=', 'SUCCEEDED')
    .execute()
  const times = backupRecord.all(rows).map(({ finishedAt }) => finishedAt ?? '')
  return (
    times
      .filter((at) => at !== '' && at <= until)
      .sort()
      .at(-1) ?? null
  )
}

/** Those that are not finished, oldest first. */
export async function listActiveBackups(tx: Tx, appEnvId?: string): Promise<Backup[]> {
  let query = tx.selectFrom('backups').select('record').where('status', 'in', activeStatuses)
  if (appEnvId !== undefined) query = query.where('app_env_id', '=', appEnvId)
  return backupRecord.all(await query.orderBy('created_at').execute())
}

export async function countBackups(tx: Tx, appEnvId: string): Promise<number> {
  const row = await tx
    .selectFrom('backups')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('app_env_id', '=', appEnvId)
    .where('status', '!=', 'FAILED')
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

/** Whether a backup of the environment was begun since and succeeded. */
export async function hasBackupSince(tx: Tx, appEnvId: string, since: string): Promise<boolean> {
  const row = await tx
    .selectFrom('backups')
    .select('backup_id')
    .where('app_env_id', '=', appEnvId)
    .where('status', '=', 'SUCCEEDED')
    .where('created_at', '>=', since)
    .executeTakeFirst()
  return row !== undefined
}

/** Every backup whose file may exist; any other file is an orphan. */
export async function listBackupIds(tx: Tx): Promise<string[]> {
  return (await tx.selectFrom('backups').select('backup_id').execute()).map((row) => row.backup_id)
}

export async function findRestore(tx: Tx, restoreId: string): Promise<Restore | null> {
  const row = await tx
    .selectFrom('restores')
    .select('record')
    .where('restore_id', '=', restoreId)
    .executeTakeFirst()
  return restoreRecord.one(row)
}

export async function insertRestore(tx: Tx, restore: Restore): Promise<void> {
  await tx
    .insertInto('restores')
    .values({
      restore_id: restore.restoreId,
      backup_id: restore.backupId,
      app_env_id: restore.appEnvId,
      status: restore.status,
      record: JSON.stringify(restore),
      created_at: restore.createdAt,
    })
    .execute()
}

export async function saveRestore(tx: Tx, restore: Restore): Promise<void> {
  await tx
    .updateTable('restores')
    .set({ status: restore.status, record: JSON.stringify(restore) })
    .where('restore_id', '=', restore.restoreId)
    .execute()
}

/** Newest first: of some backups, or of one environment. */
export async function listRestores(
  tx: Tx,
  of: { backupIds: readonly string[] } | { appEnvId: string },
  limit: number,
): Promise<Restore[]> {
  const query = tx.selectFrom('restores').select('record')
  const rows = await ('appEnvId' in of
    ? query.where('app_env_id', '=', of.appEnvId)
    : query.where('backup_id', 'in', [...of.backupIds])
  )
    .orderBy('created_at', 'desc')
    .orderBy('restore_id', 'desc')
    .limit(limit)
    .execute()
  return restoreRecord.all(rows)
}

/** Those that are not finished, oldest first. */
export async function listActiveRestores(tx: Tx, appEnvId?: string): Promise<Restore[]> {
  let query = tx.selectFrom('restores').select('record').where('status', 'in', activeStatuses)
  if (appEnvId !== undefined) query = query.where('app_env_id', '=', appEnvId)
  return restoreRecord.all(await query.orderBy('created_at').execute())
}

/** Whether an environment still waits for the data of this backup. */
export async function isBeingRestored(tx: Tx, backupId: string): Promise<boolean> {
  const row = await tx
    .selectFrom('restores')
    .select('restore_id')
    .where('backup_id', '=', backupId)
    .where('status', 'in', activeStatuses)
    .executeTakeFirst()
  return row !== undefined
}

/** Whether its data in this region is being replaced; a region that is gone may never report the end of it. */
export async function isRestoring(tx: Tx, appEnvId: string, inRegion: string): Promise<boolean> {
  const rows = await tx
    .selectFrom('restores')
    .select('record')
    .where('app_env_id', '=', appEnvId)
    .where('status', 'in', activeStatuses)
    .execute()
  return restoreRecord.all(rows).some(({ region = inRegion }) => region === inRegion)
}
