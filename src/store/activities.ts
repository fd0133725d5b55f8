import type { Activity } from '../contract/app-env-reads.ts'
import { newId } from '../domain/ids.ts'
import type { Tx } from './db.ts'

export async function insertActivity(tx: Tx, appEnvId: string, activity: Activity): Promise<void> {
  await tx
    .insertInto('activities')
    .values({
      activity_id: newId('act'),
      app_env_id: appEnvId,
      at: activity.timestamp,
      record: JSON.stringify(activity),
    })
    .execute()
}

/** Newest first. */
export async function listActivities(
  tx: Tx,
  appEnvId: string,
  page: { limit: number; offset: number; from: string | null; to: string | null },
): Promise<{ activities: Activity[]; total: number }> {
  let query = tx.selectFrom('activities').where('app_env_id', '=', appEnvId)
  if (page.from) query = query.where('at', '>=', page.from)
  if (page.to) query = query.where('at', '<=', page.to)
  const count = await query.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirst()
  const rows = await query
    .select('record')
    .orderBy('at', 'desc')
    .orderBy('activity_id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  return { activities: rows.map((row) => JSON.parse(row.record)), total: Number(count?.total ?? 0) }
}
