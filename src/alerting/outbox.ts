import { sql } from 'kysely'
import { z } from 'zod'
import type { Notification, NotificationEnvelope } from '../domain/alerts/notification.ts'
import { newId } from '../domain/ids.ts'
import type { Tables, Tx } from '../store/db.ts'
import { recordReader } from '../store/record.ts'
import { forgetRemovedContactPoints } from '../store/repositories/contact-points.ts'

const bodyRecord = recordReader<Notification>(
  'notifications',
  'eventId',
  z.looseObject({
    event: z.string(),
    eventId: z.string(),
    // Fields of later versions.
    episodeId: z.string().default(''),
    flapping: z.boolean().default(false),
    endedBy: z.string().nullable().default(null),
    servingVersion: z.number().nullable().default(null),
    diagnosis: z.unknown().default(null),
    remediationRunId: z.string().nullable().default(null),
  }),
  { fillsIn: true },
)

/** One notification to one contact point, stored before it is sent. */
export interface OutboxNotification extends NotificationEnvelope {
  notificationId: string
  contactPointId: string
  attempts: number
  spentMs: number
}

interface NotificationRecord {
  at: string
  contactPointId: string
  ok: boolean
  reason?: string
}

const shownRecords = 20

interface NewNotification extends NotificationEnvelope {
  /** Chosen by callers that seal a value for it. */
  notificationId?: string
  contactPointId: string
  /** Null for a test notification. */
  alertId: string | null
  appEnvId: string | null
  /** Firing before resolved, an earlier episode before a later one. */
  ordinal: number
}

/** Number of test notifications of an account since a time, delivered or not. */
export async function countTestNotifications(tx: Tx, accountId: string, since: string): Promise<number> {
  const counted = await tx
    .selectFrom('notifications')
    .select((e) => e.fn.countAll().as('notifications'))
    .where('account_id', '=', accountId)
    .where('event', '=', 'test')
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow()
  return Number(counted.notifications)
}

/** Adds a notification to the outbox, in the transaction of the change it reports. Returns its id. */
export async function insertNotification(
  tx: Tx,
  notification: NewNotification,
  createdAtMs: number,
): Promise<string> {
  const { notificationId = newId('ntc') } = notification
  await tx
    .insertInto('notifications')
    .values({
      notification_id: notificationId,
      event_id: notification.notification.eventId,
      alert_id: notification.alertId,
      app_env_id: notification.appEnvId,
      account_id: notification.notification.accountId,
      contact_point_id: notification.contactPointId,
      event: notification.notification.event,
      ordinal: notification.ordinal,
      dedup_key: notification.dedupKey,
      body: JSON.stringify(notification.notification),
      status: 'due',
      attempts: 0,
      spent_ms: 0,
      next_at_ms: createdAtMs,
      last_at: null,
      reason: null,
      created_at: new Date(createdAtMs).toISOString(),
    })
    .execute()
  return notificationId
}

/** Contact points with a notification that is due. */
export async function listDueContactPoints(tx: Tx, nowMs: number, longestWaitMs: number): Promise<string[]> {
  const rows = await tx
    .selectFrom('notifications')
    .select('contact_point_id')
    .where('status', '=', 'due')
    .where((e) => e.or([e('next_at_ms', '<=', nowMs), e('next_at_ms', '>', nowMs + longestWaitMs)]))
    .groupBy('contact_point_id')
    .orderBy((e) => e.fn.min('next_at_ms'))
    .execute()
  return rows.map((row) => row.contact_point_id)
}

/**
 * Due notifications of one contact point, longest waiting first. For each alert only the first undelivered one, so
 * that a resolved notification never overtakes its firing one. Those of a paused alert wait until it is resumed
 * (3.2). A time beyond `longestWaitMs` from now was written before the wall clock stepped back, and counts as due.
 */
export async function listDueNotifications(
  tx: Tx,
  options: { contactPointId: string; nowMs: number; longestWaitMs: number; limit: number },
): Promise<OutboxNotification[]> {
  const { contactPointId, nowMs, longestWaitMs, limit } = options
  const rows = await tx
    .selectFrom('notifications as n')
    .selectAll('n')
    .where('n.status', '=', 'due')
    .where('n.contact_point_id', '=', contactPointId)
    .where((e) => e.or([e('n.next_at_ms', '<=', nowMs), e('n.next_at_ms', '>', nowMs + longestWaitMs)]))
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('notifications as earlier')
            .select('earlier.notification_id')
            .whereRef('earlier.alert_id', '=', 'n.alert_id')
            .whereRef('earlier.contact_point_id', '=', 'n.contact_point_id')
            .whereRef('earlier.ordinal', '<', 'n.ordinal')
            .where('earlier.status', '=', 'due'),
        ),
      ),
    )
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('alerts')
            .select('alerts.alert_id')
            .whereRef('alerts.alert_id', '=', 'n.alert_id')
            .where('alerts.enabled', '=', 0),
        ),
      ),
    )
    .orderBy('n.next_at_ms')
    .orderBy('n.notification_id')
    .limit(limit)
    .execute()
  return rows.map(outboxNotificationOf)
}

export async function findNotification(tx: Tx, notificationId: string): Promise<OutboxNotification | null> {
  const row = await tx
    .selectFrom('notifications')
    .selectAll()
    .where('notification_id', '=', notificationId)
    .executeTakeFirst()
  return row ? outboxNotificationOf(row) : null
}

function outboxNotificationOf(row: Tables['notifications']): OutboxNotification {
  return {
    notificationId: row.notification_id,
    contactPointId: row.contact_point_id,
    notification: bodyRecord.parse(row.body, row.notification_id),
    dedupKey: row.dedup_key,
    attempts: row.attempts,
    spentMs: Number(row.spent_ms),
  }
}

/** The result of an attempt: final, or to be retried at `nextAtMs`. */
export interface AttemptRecord {
  status: 'due' | 'delivered' | 'dead'
  attempts: number
  spentMs: number
  nextAtMs: number
  at: string
  reason: string | null
  /** As it was sent, for the next attempts. */
  notification: Notification
}

export async function recordAttempt(tx: Tx, notificationId: string, attempt: AttemptRecord): Promise<void> {
  const dropped = await tx
    .selectFrom('notifications')
    .select(['alert_id', 'contact_point_id', 'ordinal'])
    .where('notification_id', '=', notificationId)
    .where('status', '=', 'dropped')
    .executeTakeFirst()
  if (dropped && attempt.status !== 'delivered') return
  await tx
    .updateTable('notifications')
    .set({
      status: attempt.status,
      attempts: attempt.attempts,
      spent_ms: Math.round(attempt.spentMs),
      next_at_ms: Math.round(attempt.nextAtMs),
      last_at: attempt.at,
      reason: attempt.reason,
      body: JSON.stringify(attempt.notification),
    })
    .where('notification_id', '=', notificationId)
    .execute()
  if (!dropped) return
  // It was being sent while it was dropped, so its receiver knows of the episode and gets the end, too.
  await tx
    .updateTable('notifications')
    .set({ status: 'due' })
    .where('alert_id', '=', dropped.alert_id)
    .where('contact_point_id', '=', dropped.contact_point_id)
    .where('ordinal', '=', dropped.ordinal + 1)
    .where('status', '=', 'dropped')
    .execute()
}

/** The attempted notifications of an alert, newest first, including dead letters. */
export async function listNotificationRecords(
  tx: Tx,
  alertId: string,
  { limit = shownRecords, offset = 0 } = {},
): Promise<NotificationRecord[]> {
  const rows = await tx
    .selectFrom('notifications')
    .select(['last_at', 'contact_point_id', 'status', 'reason'])
    .where('alert_id', '=', alertId)
    .where('attempts', '>', 0)
    .orderBy('last_at', 'desc')
    .orderBy('notification_id')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map((row) => ({
    at: row.last_at as string,
    contactPointId: row.contact_point_id,
    ok: row.status === 'delivered',
    ...(row.reason === null ? {} : { reason: row.reason }),
  }))
}

export async function countNotificationRecords(tx: Tx, alertId: string): Promise<number> {
  const counted = await tx
    .selectFrom('notifications')
    .select((e) => e.fn.countAll().as('total'))
    .where('alert_id', '=', alertId)
    .where('attempts', '>', 0)
    .executeTakeFirstOrThrow()
  return Number(counted.total)
}

/** Deletes notifications that are finished, except those of open episodes. */
export async function forgetNotificationsBefore(tx: Tx, at: string): Promise<void> {
  await tx
    .deleteFrom('notifications')
    .where('status', '!=', 'due')
    .where('last_at', '<', at)
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('alert_states as s')
            .select('s.alert_id')
            .whereRef('s.alert_id', '=', 'notifications.alert_id')
            .where('s.is_open', '=', 1)
            .where(sql<boolean>`notifications.ordinal >= 2 * s.episode`),
        ),
      ),
    )
    .execute()
  await forgetRemovedContactPoints(tx)
}
