import { sql } from 'kysely'
import { z } from 'zod'
import type { AlertState } from '../../contract/alerts.ts'
import type { StoredAlert } from '../../domain/alerts/alert.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'
import { servingRegion } from './environments-in-regions.ts'

const alertRecord = recordReader<StoredAlert>(
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

/** `region`: where its environment serves now. The record has that of the time when it was saved. */
export function alertOf({ record, region }: { record: string; region: string }): StoredAlert {
  return { ...alertRecord.parse(record), region }
}

export async function findAlert(tx: Tx, alertId: string): Promise<StoredAlert | null> {
  const row = await selectAlerts(tx).where('alerts.alert_id', '=', alertId).executeTakeFirst()
  return row ? alertOf(row) : null
}

/** Stable order: by creation, then id. */
export async function listAlertsOfEnvironment(tx: Tx, appEnvId: string): Promise<StoredAlert[]> {
  const rows = await selectAlerts(tx)
    .where('alerts.app_env_id', '=', appEnvId)
    .orderBy('alerts.created_at')
    .orderBy('alerts.alert_id')
    .execute()
  return rows.map(alertOf)
}

function selectAlerts(tx: Tx) {
  return tx
    .selectFrom('alerts')
    .innerJoin('app_envs', 'app_envs.app_env_id', 'alerts.app_env_id')
    .select(['alerts.record', servingRegion.as('region')])
}

type AlertsOf = { appEnvIds: readonly string[] } | { accountId: string } | { appId: string }

/**
 * A page of the alerts of these environments, with the cliEnvName of each: firing ones first, then by creation and id.
 * A paused alert is in no state.
 */
export async function listAlerts(
  tx: Tx,
  of: AlertsOf,
  page: { state?: AlertState | undefined; limit?: number | undefined; offset: number },
): Promise<{ alerts: { alert: StoredAlert; envName: string }[]; total: number }> {
  let query = alertsOf(tx, of)
  if (page.state) query = query.where('alerts.enabled', '=', 1).where(stateColumn, '=', page.state)
  const count = await query.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirst()
  let selected = query
    .select(['alerts.record', 'app_envs.cli_env_name', servingRegion.as('region')])
    .orderBy(sql`case when alerts.enabled = 1 and alert_states.state = 'Firing' then 0 else 1 end`)
    .orderBy('alerts.created_at')
    .orderBy('alerts.alert_id')
  if (page.limit !== undefined) selected = selected.limit(page.limit).offset(page.offset)
  const rows = await selected.execute()
  const alerts = rows.map((row) => ({ alert: alertOf(row), envName: row.cli_env_name }))
  return { alerts, total: Number(count?.total ?? 0) }
}

/** How many alerts that are not paused each environment has in each state. */
export async function countAlertStates(
  tx: Tx,
  of: AlertsOf,
): Promise<{ appEnvId: string; state: AlertState; count: number }[]> {
  const rows = await alertsOf(tx, of)
    .where('alerts.enabled', '=', 1)
    .select((e) => ['alerts.app_env_id', stateColumn.as('state'), e.fn.countAll<number>().as('count')])
    .groupBy(['alerts.app_env_id', stateColumn])
    .execute()
  return rows.map(({ app_env_id, state, count }) => ({ appEnvId: app_env_id, state, count: Number(count) }))
}

/** An alert without a stored state was never evaluated. */
const stateColumn = sql<AlertState>`coalesce(alert_states.state, 'Normal')`

function alertsOf(tx: Tx, of: AlertsOf) {
  const query = tx
    .selectFrom('app_envs')
    .innerJoin('alerts', 'alerts.app_env_id', 'app_envs.app_env_id')
    .leftJoin('alert_states', 'alert_states.alert_id', 'alerts.alert_id')
  if ('accountId' in of) return query.where('app_envs.account_id', '=', of.accountId)
  if ('appId' in of) return query.where('app_envs.app_id', '=', of.appId)
  // PostgreSQL refuses an empty list.
  return query.where('app_envs.app_env_id', 'in', ['', ...of.appEnvIds])
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

/** Removes the alert and its dependent rows. Notifications that are due stay, without a link to the environment. */
export async function removeAlert(tx: Tx, alertId: string): Promise<void> {
  await tx
    .updateTable('notifications')
    .set({ app_env_id: null })
    .where('alert_id', '=', alertId)
    .where('status', 'in', ['due', 'dropped'])
    .execute()
  const finished = tx.deleteFrom('notifications').where('status', 'not in', ['due', 'dropped'])
  await finished.where('alert_id', '=', alertId).execute()
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
