import { z } from 'zod'
import type { StoredContactPoint } from '../../domain/alerts/contact-point.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

declare module '../db.ts' {
  interface Tables {
    contact_points: {
      contact_point_id: string
      account_id: string
      record: string
      revision: number
      created_at: string
      /** Set while notifications are still on their way to a deleted contact point. */
      removed_at: string | null
    }
  }
}

const contactPointRecord = recordReader<StoredContactPoint>(
  'contact_points',
  'contactPointId',
  z.object({
    contactPointId: z.string(),
    accountId: z.string(),
    type: z.string(),
    config: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
    revision: z.number(),
  }),
)

export async function findContactPoint(tx: Tx, contactPointId: string): Promise<StoredContactPoint | null> {
  const row = await recordOf(tx, contactPointId).where('removed_at', 'is', null).executeTakeFirst()
  return contactPointRecord.one(row)
}

/** For delivery: also a deleted one to which notifications are still on their way. */
export async function findReceivingContactPoint(
  tx: Tx,
  contactPointId: string,
): Promise<StoredContactPoint | null> {
  return contactPointRecord.one(await recordOf(tx, contactPointId).executeTakeFirst())
}

function recordOf(tx: Tx, contactPointId: string) {
  return tx.selectFrom('contact_points').select('record').where('contact_point_id', '=', contactPointId)
}

/** Stable order: by creation, then id. */
export async function listContactPointsOf(
  tx: Tx,
  of: { accountId: string } | { contactPointIds: readonly string[] },
): Promise<StoredContactPoint[]> {
  const query = tx.selectFrom('contact_points').select('record').where('removed_at', 'is', null)
  const rows = await ('accountId' in of
    ? query.where('account_id', '=', of.accountId)
    : query.where('contact_point_id', 'in', of.contactPointIds.length > 0 ? [...of.contactPointIds] : [''])
  )
    .orderBy('created_at')
    .orderBy('contact_point_id')
    .execute()
  return contactPointRecord.all(rows)
}

export async function insertContactPoint(tx: Tx, point: StoredContactPoint): Promise<void> {
  await tx
    .insertInto('contact_points')
    .values({
      contact_point_id: point.contactPointId,
      account_id: point.accountId,
      record: JSON.stringify(point),
      revision: point.revision,
      created_at: point.createdAt,
      removed_at: null,
    })
    .execute()
}

export async function saveContactPoint(tx: Tx, point: StoredContactPoint): Promise<void> {
  await tx
    .updateTable('contact_points')
    .set({ record: JSON.stringify(point), revision: point.revision })
    .where('contact_point_id', '=', point.contactPointId)
    .execute()
}

/** Removes it for every reader; delivery keeps it while notifications are on their way. Returns how many are. */
export async function removeContactPoint(tx: Tx, contactPointId: string, at: string): Promise<number> {
  const removed = tx.updateTable('contact_points').set({ removed_at: at })
  await removed.where('contact_point_id', '=', contactPointId).execute()
  const due = await tx
    .selectFrom('notifications')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('contact_point_id', '=', contactPointId)
    .where('status', '=', 'due')
    .executeTakeFirst()
  await forgetRemovedContactPoints(tx)
  return Number(due?.count ?? 0)
}

/** Deletes removed contact points to which no notification can be sent any more. */
export async function forgetRemovedContactPoints(tx: Tx): Promise<void> {
  await tx
    .deleteFrom('contact_points')
    .where('removed_at', 'is not', null)
    .where('contact_point_id', 'not in', (e) =>
      e
        .selectFrom('notifications')
        .select('notifications.contact_point_id')
        .where('notifications.status', 'in', ['due', 'dropped']),
    )
    .execute()
}

/** How many alerts send notifications to it (X2). */
export async function countAlertsUsing(tx: Tx, contactPointId: string): Promise<number> {
  const row = await tx
    .selectFrom('alert_contact_points')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('contact_point_id', '=', contactPointId)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}
