import { z } from 'zod'
import type { Activity } from '../../contract/app-env-reads.ts'
import { randomText } from '../../domain/ids.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

const activityRecord = recordReader<Activity>(
  'activities',
  null,
  z.object({ activity: z.string(), status: z.string(), timestamp: z.string() }),
)

/** Activities of one transaction share a timestamp; the id begins with their position, which keeps the order. */
export async function insertActivity(tx: Tx, appEnvId: string, activity: Activity): Promise<void> {
  const at = activity.timestamp
  const before = await tx
    .selectFrom('activities')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('app_env_id', '=', appEnvId)
    .where('at', '=', at)
    .executeTakeFirst()
  const place = String(Number(before?.total ?? 0)).padStart(4, '0')
  await tx
    .insertInto('activities')
    .values({
      activity_id: `act_${place}${randomText(20)}`,
      app_env_id: appEnvId,
      at,
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
  return { activities: activityRecord.all(rows), total: Number(count?.total ?? 0) }
}
