import { timestamp } from '../clock.ts'
import type { AlertState } from '../contract/alerts.ts'
import type { Tx } from '../store/db.ts'

export interface StateChange {
  from: AlertState
  to: AlertState
  at: string
  value: number | null
}

/** Kept of each alert: the newest changes, and those of the last days up to a number. */
const kept = { fewest: 20, most: 2_000, ms: 31 * 86_400_000 }

interface Changed {
  alertId: string
  appEnvId: string
  version: number
}

export async function keepStateChange(
  tx: Tx,
  { alertId, appEnvId, version }: Changed,
  { from, to, at, value }: StateChange,
): Promise<void> {
  const row = { alert_id: alertId, version, app_env_id: appEnvId, at, from_state: from, to_state: to, value }
  await tx.insertInto('alert_history').values(row).execute()
  const tooOld = timestamp(Date.parse(at) - kept.ms)
  const excess = [await nth(tx, alertId, kept.most), await nth(tx, alertId, kept.fewest, tooOld)]
  const upTo = Math.max(...excess.map((one) => one ?? -1))
  if (upTo < 0) return
  await tx.deleteFrom('alert_history').where('alert_id', '=', alertId).where('version', '<=', upTo).execute()
}

/** The version of the change that `newer` others follow, if it was before `before`. */
async function nth(tx: Tx, alertId: string, newer: number, before?: string): Promise<number | null> {
  const row = await tx
    .selectFrom('alert_history')
    .select(['version', 'at'])
    .where('alert_id', '=', alertId)
    .orderBy('version', 'desc')
    .offset(newer)
    .limit(1)
    .executeTakeFirst()
  return row && (before === undefined || row.at < before) ? row.version : null
}

interface Page {
  /** Only changes from this time on. */
  from?: string | undefined
  limit: number
  offset: number
}

/** Newest first. */
export async function listStateChanges(
  tx: Tx,
  alertId: string,
  { from, limit, offset }: Page = { limit: 20, offset: 0 },
): Promise<StateChange[]> {
  let query = tx.selectFrom('alert_history').selectAll().where('alert_id', '=', alertId)
  if (from !== undefined) query = query.where('at', '>=', from)
  const rows = await query.orderBy('version', 'desc').limit(limit).offset(offset).execute()
  return rows.map((row) => ({
    from: row.from_state as AlertState,
    to: row.to_state as AlertState,
    at: row.at,
    value: row.value,
  }))
}

/** How many changes are kept, from a time on, and since when none is missing. */
export async function countStateChanges(
  tx: Tx,
  { alertId, createdAt }: { alertId: string; createdAt: string },
  { from, now }: { from: string | undefined; now: string },
): Promise<{ total: number; completeFrom: string }> {
  const own = tx.selectFrom('alert_history').where('alert_id', '=', alertId)
  const { all, oldest } = await own
    .select((e) => [e.fn.countAll<number>().as('all'), e.fn.min('at').as('oldest')])
    .executeTakeFirstOrThrow()
  const total = from === undefined ? all : await countFrom(tx, alertId, from)
  const isFull = Number(all) >= kept.most && oldest !== null
  const keptSince = timestamp(Date.parse(now) - kept.ms)
  const completeFrom = isFull ? oldest : createdAt > keptSince ? createdAt : keptSince
  return { total: Number(total), completeFrom }
}

async function countFrom(tx: Tx, alertId: string, from: string): Promise<number> {
  const { count } = await tx
    .selectFrom('alert_history')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('alert_id', '=', alertId)
    .where('at', '>=', from)
    .executeTakeFirstOrThrow()
  return count
}
