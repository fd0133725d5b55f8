import { z } from 'zod'
import type { App } from '../../contract/apps.ts'
import type { AppRecord } from '../../domain/apps/app-settings.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

const appRecord = recordReader<AppRecord>(
  'apps',
  'appId',
  z.object({ appId: z.string(), accountId: z.string(), name: z.string(), dockerPreset: z.string() }),
)

interface StoredApp {
  app: AppRecord
  createdBy: string | null
}

export async function findApp(tx: Tx, appId: string): Promise<StoredApp | null> {
  const row = await tx.selectFrom('apps').selectAll().where('app_id', '=', appId).executeTakeFirst()
  return row ? { app: appRecord.parse(row.record), createdBy: row.created_by } : null
}

export async function listAppsOfAccount(tx: Tx, accountId: string): Promise<StoredApp[]> {
  const rows = await tx
    .selectFrom('apps')
    .select(['record', 'created_by'])
    .where('account_id', '=', accountId)
    .orderBy('created_at')
    .orderBy('app_id')
    .execute()
  return rows.map((row) => ({ app: appRecord.parse(row.record), createdBy: row.created_by }))
}

export async function insertApp(tx: Tx, app: App, createdBy: string | null): Promise<void> {
  await tx
    .insertInto('apps')
    .values({
      app_id: app.appId,
      account_id: app.accountId,
      created_by: createdBy,
      record: JSON.stringify(app),
      revision: app.revision,
      created_at: app.createdAt,
    })
    .execute()
}

export async function updateApp(tx: Tx, app: AppRecord): Promise<void> {
  await tx
    .updateTable('apps')
    .set({ record: JSON.stringify(app), revision: app.revision })
    .where('app_id', '=', app.appId)
    .execute()
}

export async function deleteApp(tx: Tx, appId: string): Promise<void> {
  await tx.deleteFrom('apps').where('app_id', '=', appId).execute()
}
