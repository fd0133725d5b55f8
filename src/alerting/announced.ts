import type { Tx } from '../store/db.ts'

/** Contact points that an open episode was announced to and that its end has still to reach. */
export async function contactPointsOwedTheEnd(
  tx: Tx,
  alertId: string,
  firingOrdinal: number,
): Promise<string[]> {
  const rows = await tx
    .selectFrom('notifications')
    .select(['contact_point_id', 'ordinal'])
    .where('alert_id', '=', alertId)
    .where('ordinal', 'in', [firingOrdinal, firingOrdinal + 1])
    .execute()
  const ended = new Set(
    rows.filter(({ ordinal }) => ordinal > firingOrdinal).map((row) => row.contact_point_id),
  )
  return rows.map((row) => row.contact_point_id).filter((id) => !ended.has(id))
}

/**
 * Drops what a paused alert has not sent (3.2), with the end of each episode whose beginning was not sent. The end of
 * an episode that was announced stays due.
 */
export async function dropUnsent(tx: Tx, alertId: string, at: string): Promise<void> {
  const unsent = await tx
    .selectFrom('notifications')
    .select(['contact_point_id', 'ordinal'])
    .where('alert_id', '=', alertId)
    .where('event', '=', 'firing')
    .where('status', '=', 'due')
    .execute()
  for (const { contact_point_id, ordinal } of unsent) {
    await tx
      .updateTable('notifications')
      .set({ status: 'dropped', last_at: at })
      .where('alert_id', '=', alertId)
      .where('contact_point_id', '=', contact_point_id)
      .where('ordinal', 'in', [ordinal, ordinal + 1])
      .where('status', '=', 'due')
      .execute()
  }
}
