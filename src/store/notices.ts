import { newId } from '../domain/ids.ts'
import type { Notice, NoticeEnvelope } from '../domain/notice.ts'
import type { Tables, Tx } from './db.ts'

/** One notice to one contact point, stored before it is sent. */
export interface OutboxNotice extends NoticeEnvelope {
  noticeId: string
  contactPointId: string
  attempts: number
  spentMs: number
}

export interface NoticeRecord {
  at: string
  contactPointId: string
  ok: boolean
  reason?: string
}

const shownRecords = 20

export interface NewNotice extends NoticeEnvelope {
  contactPointId: string
  /** Null for a test notice. */
  alertId: string | null
  appEnvId: string | null
  /** Firing before resolved, an earlier episode before a later one. */
  ordinal: number
}

/** Test notices of an account since a moment, delivered or not. */
export async function countTestNotices(tx: Tx, accountId: string, since: string): Promise<number> {
  const counted = await tx
    .selectFrom('notices')
    .select((e) => e.fn.countAll().as('notices'))
    .where('account_id', '=', accountId)
    .where('event', '=', 'test')
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow()
  return Number(counted.notices)
}

/** Puts a notice into the outbox, in the transaction of what it tells about. Returns its id. */
export async function insertNotice(tx: Tx, notice: NewNotice, createdAtMs: number): Promise<string> {
  const noticeId = newId('ntc')
  await tx
    .insertInto('notices')
    .values({
      notice_id: noticeId,
      event_id: notice.notice.eventId,
      alert_id: notice.alertId,
      app_env_id: notice.appEnvId,
      account_id: notice.notice.accountId,
      contact_point_id: notice.contactPointId,
      event: notice.notice.event,
      ordinal: notice.ordinal,
      dedup_key: notice.dedupKey,
      body: JSON.stringify(notice.notice),
      status: 'due',
      attempts: 0,
      spent_ms: 0,
      next_at_ms: createdAtMs,
      last_at: null,
      reason: null,
      created_at: new Date(createdAtMs).toISOString(),
    })
    .execute()
  return noticeId
}

/** Contact points that have a notice to be sent now. */
export async function listDueContactPoints(tx: Tx, nowMs: number, farMs: number): Promise<string[]> {
  const rows = await tx
    .selectFrom('notices')
    .select('contact_point_id')
    .distinct()
    .where('status', '=', 'due')
    .where((e) => e.or([e('next_at_ms', '<=', nowMs), e('next_at_ms', '>', nowMs + farMs)]))
    .execute()
  return rows.map((row) => row.contact_point_id)
}

/**
 * Notices of one contact point to be sent now, the longest waiting first. Of one alert only the first that is
 * still to be delivered: a resolved notice never overtakes its firing one. Those of a paused alert wait until it is
 * resumed (3.2). A time beyond `farMs` from now was written before the wall clock stepped back, and counts as now.
 */
export async function listDueNotices(
  tx: Tx,
  options: { contactPointId: string; nowMs: number; farMs: number; limit: number },
): Promise<OutboxNotice[]> {
  const { contactPointId, nowMs, farMs, limit } = options
  const rows = await tx
    .selectFrom('notices as n')
    .selectAll('n')
    .where('n.status', '=', 'due')
    .where('n.contact_point_id', '=', contactPointId)
    .where((e) => e.or([e('n.next_at_ms', '<=', nowMs), e('n.next_at_ms', '>', nowMs + farMs)]))
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('notices as earlier')
            .select('earlier.notice_id')
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
    .orderBy('n.notice_id')
    .limit(limit)
    .execute()
  return rows.map(outboxNoticeOf)
}

export async function findNotice(tx: Tx, noticeId: string): Promise<OutboxNotice | null> {
  const row = await tx.selectFrom('notices').selectAll().where('notice_id', '=', noticeId).executeTakeFirst()
  return row ? outboxNoticeOf(row) : null
}

function outboxNoticeOf(row: Tables['notices']): OutboxNotice {
  return {
    noticeId: row.notice_id,
    contactPointId: row.contact_point_id,
    notice: JSON.parse(row.body) as Notice,
    dedupKey: row.dedup_key,
    attempts: row.attempts,
    spentMs: Number(row.spent_ms),
  }
}

/** What became of an attempt: over, or to be tried again at `nextAtMs`. */
export interface AttemptRecord {
  status: 'due' | 'delivered' | 'dead'
  attempts: number
  spentMs: number
  nextAtMs: number
  at: string
  reason: string | null
}

export async function recordAttempt(tx: Tx, noticeId: string, attempt: AttemptRecord): Promise<void> {
  await tx
    .updateTable('notices')
    .set({
      status: attempt.status,
      attempts: attempt.attempts,
      spent_ms: Math.round(attempt.spentMs),
      next_at_ms: Math.round(attempt.nextAtMs),
      last_at: attempt.at,
      reason: attempt.reason,
    })
    .where('notice_id', '=', noticeId)
    .execute()
}

/** The last notices of an alert that were tried, newest first; dead letters among them. */
export async function listNoticeRecords(tx: Tx, alertId: string): Promise<NoticeRecord[]> {
  const rows = await tx
    .selectFrom('notices')
    .select(['last_at', 'contact_point_id', 'status', 'reason'])
    .where('alert_id', '=', alertId)
    .where('attempts', '>', 0)
    .orderBy('last_at', 'desc')
    .orderBy('notice_id')
    .limit(shownRecords)
    .execute()
  return rows.map((row) => ({
    at: row.last_at as string,
    contactPointId: row.contact_point_id,
    ok: row.status === 'delivered',
    ...(row.reason === null ? {} : { reason: row.reason }),
  }))
}

/** Contact points that an episode's firing notice was meant for: they hear of its end too. */
export async function contactPointsToldOf(tx: Tx, alertId: string, ordinal: number): Promise<string[]> {
  const rows = await tx
    .selectFrom('notices')
    .select('contact_point_id')
    .where('alert_id', '=', alertId)
    .where('ordinal', '=', ordinal)
    .execute()
  return rows.map((row) => row.contact_point_id)
}

/** Forgets notices that are over. */
export async function forgetNoticesBefore(tx: Tx, at: string): Promise<void> {
  await tx.deleteFrom('notices').where('status', '!=', 'due').where('last_at', '<', at).execute()
}
