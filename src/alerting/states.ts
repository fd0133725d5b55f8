import { sql } from 'kysely'
import type { AlertState } from '../contract/alerts.ts'
import type { StoredAlert } from '../domain/alerts/alert.ts'
import { type AlertProgress, newAlertProgress } from '../domain/alerts/state.ts'
import type { Tables, Tx } from '../store/db.ts'
import { alertOf } from '../store/repositories/alerts.ts'
import { listed, servingRegion } from '../store/repositories/environments-in-regions.ts'
import { keepStateChange, type StateChange } from './state-history.ts'

/** The stored state of an alert. `version` increases with every change. */
export interface StoredAlertState {
  alertId: string
  appEnvId: string
  progress: AlertProgress
  /** When the open episode started to fire. */
  startedAt: string | null
  checkedAt: string | null
  isInCycle: boolean
  version: number
}

const lastCycleKey = 'alerts-evaluated-at'

type StateRow = Tables['alert_states']

function stateOf(row: StateRow): StoredAlertState {
  return {
    alertId: row.alert_id,
    appEnvId: row.app_env_id,
    progress: {
      state: row.state as AlertState,
      heldMs: Number(row.held_ms),
      episode: row.episode,
      isOpen: row.is_open === 1,
      flaps: row.flaps,
      calmMs: Number(row.calm_ms),
    },
    startedAt: row.started_at,
    checkedAt: row.checked_at,
    isInCycle: row.in_cycle === 1,
    version: row.version,
  }
}

export async function insertAlertState(
  tx: Tx,
  alert: { alertId: string; appEnvId: string },
): Promise<StoredAlertState> {
  const state: StoredAlertState = {
    alertId: alert.alertId,
    appEnvId: alert.appEnvId,
    progress: newAlertProgress,
    startedAt: null,
    checkedAt: null,
    isInCycle: false,
    version: 1,
  }
  await tx
    .insertInto('alert_states')
    .values({ alert_id: alert.alertId, app_env_id: alert.appEnvId, ...columnsOf(state) })
    .execute()
  return state
}

export async function findAlertStates(
  tx: Tx,
  alertIds: readonly string[],
): Promise<Map<string, StoredAlertState>> {
  if (alertIds.length === 0) return new Map()
  const rows = await tx
    .selectFrom('alert_states')
    .selectAll()
    .where('alert_id', 'in', [...alertIds])
    .execute()
  return new Map(rows.map((row) => [row.alert_id, stateOf(row)]))
}

/** Not one that was never deployed: it has nothing to stop. */
const isStoppedColumn = sql<number>`case when app_envs.status = 'STOPPED' and exists
  (select 1 from contents where contents.app_env_id = app_envs.app_env_id) then 1 else 0 end`

/** The alerts that an evaluator checks in each cycle: those not paused, in its regions or in all. */
export async function listEvaluatedAlerts(
  tx: Tx,
  regions?: readonly string[],
): Promise<{ alert: StoredAlert; state: StoredAlertState; appEnvName: string; isStopped: boolean }[]> {
  let query = tx
    .selectFrom('alerts')
    .innerJoin('alert_states', 'alert_states.alert_id', 'alerts.alert_id')
    .innerJoin('app_envs', 'app_envs.app_env_id', 'alerts.app_env_id')
    .selectAll('alert_states')
    .select(['alerts.record', 'app_envs.cli_env_name', isStoppedColumn.as('isStopped')])
    .select(servingRegion.as('region'))
    .where('alerts.enabled', '=', 1)
  if (regions !== undefined) query = query.where(servingRegion, 'in', listed(regions))
  const rows = await query.orderBy('alerts.app_env_id').execute()
  return rows.map((row) => ({
    alert: alertOf(row),
    state: stateOf(row),
    appEnvName: row.cli_env_name,
    isStopped: row.isStopped === 1,
  }))
}

/**
 * Saves `state` as the next version. False if the state was changed or the alert was removed since it was read: then
 * nothing is written and the caller discards its result.
 */
export async function saveAlertState(
  tx: Tx,
  state: StoredAlertState,
  change: StateChange | null,
): Promise<boolean> {
  const version = state.version + 1
  const result = await tx
    .updateTable('alert_states')
    .set(columnsOf({ ...state, version }))
    .where('alert_id', '=', state.alertId)
    .where('version', '=', state.version)
    .executeTakeFirst()
  if (Number(result.numUpdatedRows) === 0) return false
  if (change) await keepStateChange(tx, { ...state, version }, change)
  return true
}

/** Notes an unchanged evaluation. The version stays: a new one would restart the evaluator's count of time. */
export async function noteCheck(
  tx: Tx,
  state: StoredAlertState,
  checkedAt: string,
): Promise<StoredAlertState | null> {
  const result = await tx
    .updateTable('alert_states')
    .set({ checked_at: checkedAt })
    .where('alert_id', '=', state.alertId)
    .where('version', '=', state.version)
    .executeTakeFirst()
  return Number(result.numUpdatedRows) === 0 ? null : { ...state, checkedAt }
}

/** One row for all alerts: a cycle without changes writes nothing else. */
export async function markCycle(tx: Tx, at: string): Promise<void> {
  await tx
    .insertInto('installation')
    .values({ key: lastCycleKey, value: at })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: at }))
    .execute()
}

export async function lastCycleAt(tx: Tx): Promise<string | null> {
  const row = await tx
    .selectFrom('installation')
    .select('value')
    .where('key', '=', lastCycleKey)
    .executeTakeFirst()
  return row?.value ?? null
}

/** When an alert was last evaluated: alone, or by the cycles that include it. */
export function lastCheckOf(state: StoredAlertState, cycleAt: string | null): string | null {
  if (!state.isInCycle || cycleAt === null) return state.checkedAt
  return state.checkedAt !== null && state.checkedAt > cycleAt ? state.checkedAt : cycleAt
}

function columnsOf(state: StoredAlertState) {
  const { progress, startedAt, checkedAt, isInCycle, version } = state
  return {
    state: progress.state,
    held_ms: Math.round(progress.heldMs),
    episode: progress.episode,
    is_open: progress.isOpen ? 1 : 0,
    flaps: progress.flaps,
    calm_ms: Math.round(progress.calmMs),
    started_at: startedAt,
    checked_at: checkedAt,
    in_cycle: isInCycle ? 1 : 0,
    version,
  }
}
