import { z } from 'zod'
import type { StoredAlert } from '../../domain/alerts/alert.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

export const alertRecord = recordReader<StoredAlert>(
  'alerts',
  'alertId',
  z.object({
    alertId: z.string(),
    appEnvId: z.string(),
    metric: z.string(),
    aggregation: z.string(),
    revision: z.number(),
  }),
)

export async function findAlert(tx: Tx, alertId: string): Promise<StoredAlert | null> {
  const row = await tx
    .selectFrom('alerts')
    .select('record')
    .where('alert_id', '=', alertId)
    .executeTakeFirst()
  return alertRecord.one(row)
}

/** Stable order: by creation, then id. */
export async function listAlertsOfEnvironment(tx: Tx, appEnvId: string): Promise<StoredAlert[]> {
  const rows = await tx
    .selectFrom('alerts')
    .select('record')
    .where('app_env_id', '=', appEnvId)
    .orderBy('created_at')
    .orderBy('alert_id')
    .execute()
  return alertRecord.all(rows)
}

export async function insertAlert(tx: Tx, alert: StoredAlert): Promise<void> {
  await tx
    .insertInto('alerts')
    .values({
      alert_id: alert.alertId,
      app_env_id: alert.appEnvId,
      account_id: alert.accountId,
      enabled: alert.enabled ? 1 : 0,
      record: JSON.stringify(alert),
      revision: alert.revision,
      created_at: alert.createdAt,
    })
    .execute()
  await linkContactPoints(tx, alert)
}

export async function saveAlert(tx: Tx, alert: StoredAlert): Promise<void> {
  await tx
    .updateTable('alerts')
    .set({ enabled: alert.enabled ? 1 : 0, record: JSON.stringify(alert), revision: alert.revision })
    .where('alert_id', '=', alert.alertId)
    .execute()
  await tx.deleteFrom('alert_contact_points').where('alert_id', '=', alert.alertId).execute()
  await linkContactPoints(tx, alert)
}

/**
 * Removes the alert and its dependent rows. Pending notifications are still delivered in order, without a link to the
 * environment; a paused alert sends none (3.2), so its pending ones are removed too.
 */
export async function removeAlert(tx: Tx, { alertId, enabled }: StoredAlert): Promise<void> {
  if (enabled) {
    await tx
      .updateTable('notifications')
      .set({ app_env_id: null })
      .where('alert_id', '=', alertId)
      .where('status', '=', 'due')
      .execute()
  }
  const notifications = tx.deleteFrom('notifications').where('alert_id', '=', alertId)
  await (enabled ? notifications.where('status', '!=', 'due') : notifications).execute()
  const tables = ['alert_contact_points', 'alert_states', 'alert_history', 'alerts'] as const
  for (const table of tables) await tx.deleteFrom(table).where('alert_id', '=', alertId).execute()
}

async function linkContactPoints(tx: Tx, alert: StoredAlert): Promise<void> {
  if (alert.contactPointIds.length === 0) return
  await tx
    .insertInto('alert_contact_points')
    .values(
      alert.contactPointIds.map((contactPointId) => ({
        alert_id: alert.alertId,
        app_env_id: alert.appEnvId,
        contact_point_id: contactPointId,
      })),
    )
    .execute()
}
