import { type ContainerRun, type HourlyUsage, usageByHour } from '../../domain/environments/usage.ts'
import type { Tx } from '../db.ts'

export interface StoredRun extends ContainerRun {
  container: string
  appEnvId: string
  accountId: string
}

const seenKey = 'usage_seen_ms'
const seenKeyOf = (node: string | null) => (node === null ? seenKey : `${seenKey}:${node}`)
const foldedAtOnce = 500

/** Adds the run of a container; an existing row stays unchanged, so nothing is billed twice. */
export async function insertRun(tx: Tx, run: StoredRun, node: string | null = null): Promise<void> {
  await tx
    .insertInto('container_runs')
    .values({
      container: run.container,
      app_env_id: run.appEnvId,
      account_id: run.accountId,
      z_clouds: run.zClouds,
      rate_multiplier: run.rateMultiplier,
      started_ms: run.startedMs,
      finished_ms: run.finishedMs,
      node,
    })
    .onConflict((conflict) => conflict.column('container').doNothing())
    .execute()
}

/** Ends an open run; a known end is never replaced. */
export async function finishRun(tx: Tx, container: string, finishedMs: number): Promise<void> {
  await tx
    .updateTable('container_runs')
    .set((e) => ({
      finished_ms: e
        .case()
        .when('started_ms', '>', finishedMs)
        .then(e.ref('started_ms'))
        .else(finishedMs)
        .end(),
    }))
    .where('container', '=', container)
    .where('finished_ms', 'is', null)
    .execute()
}

/** `node`: those that one meter handles, such as that of a machine where several share the store. */
export async function listOpenRuns(tx: Tx, node: string | null = null): Promise<StoredRun[]> {
  const open = tx.selectFrom('container_runs').selectAll().where('finished_ms', 'is', null)
  const own = node === null ? open.where('node', 'is', null) : open.where('node', '=', node)
  return (await own.execute()).map(runOf)
}

/** The machine takes over the runs from the time when one control plane did all. */
export async function adoptRuns(tx: Tx, node: string): Promise<void> {
  await tx.updateTable('container_runs').set({ node }).where('node', 'is', null).execute()
  const seenMs = await readSeen(tx, null)
  if (seenMs > 0) await writeSeen(tx, seenMs, node)
}

/** Runs of an environment that had not ended at `fromMs`. */
export async function listRuns(tx: Tx, appEnvId: string, fromMs: number): Promise<StoredRun[]> {
  const rows = await tx
    .selectFrom('container_runs')
    .selectAll()
    .where('app_env_id', '=', appEnvId)
    .where((e) => e.or([e('finished_ms', 'is', null), e('finished_ms', '>', fromMs)]))
    .execute()
  return rows.map(runOf)
}

/** Runs of an account that had not ended at `fromMs`, also of deleted environments; or only those of some. */
export async function listRunsOfAccount(
  tx: Tx,
  accountId: string,
  fromMs: number,
  onlyIds?: readonly string[] | null,
): Promise<StoredRun[]> {
  let query = tx
    .selectFrom('container_runs')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((e) => e.or([e('finished_ms', 'is', null), e('finished_ms', '>', fromMs)]))
  if (onlyIds) query = query.where('app_env_id', 'in', ['', ...onlyIds])
  return (await query.execute()).map(runOf)
}

/** Aggregated hours of an environment that begin in a range. */
export async function listUsageHours(
  tx: Tx,
  appEnvId: string,
  range: { fromMs: number; toMs: number },
): Promise<HourlyUsage[]> {
  const rows = await tx
    .selectFrom('usage_hours')
    .selectAll()
    .where('app_env_id', '=', appEnvId)
    .where('hour_ms', '>=', range.fromMs)
    .where('hour_ms', '<', range.toMs)
    .execute()
  return rows.map((row) => ({
    hourMs: Number(row.hour_ms),
    containerSeconds: Number(row.container_seconds),
    zCloudSeconds: Number(row.z_cloud_seconds),
    billedZCloudSeconds: Number(row.billed_z_cloud_seconds),
  }))
}

/**
 * Aggregates runs that ended before a time into hours of their environment, in the caller's transaction. Returns how
 * many runs it handled; call it until that is 0.
 */
export async function foldRuns(tx: Tx, beforeMs: number): Promise<number> {
  const rows = await tx
    .selectFrom('container_runs')
    .selectAll()
    .where('finished_ms', '<', beforeMs)
    .limit(foldedAtOnce)
    .execute()
  for (const run of rows.map(runOf)) {
    for (const hour of usageByHour([run], { fromMs: 0, toMs: beforeMs, nowMs: beforeMs })) {
      await addHour(tx, run, hour)
    }
    await tx.deleteFrom('container_runs').where('container', '=', run.container).execute()
  }
  return rows.length
}

/** When the open runs were last seen running; 0 if never. */
export async function readSeen(tx: Tx, node: string | null): Promise<number> {
  const row = await tx
    .selectFrom('installation')
    .select('value')
    .where('key', '=', seenKeyOf(node))
    .executeTakeFirst()
  return Number(row?.value ?? 0)
}

export async function writeSeen(tx: Tx, seenMs: number, node: string | null): Promise<void> {
  const value = String(seenMs)
  await tx
    .insertInto('installation')
    .values({ key: seenKeyOf(node), value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .execute()
}

async function addHour(tx: Tx, run: StoredRun, hour: HourlyUsage): Promise<void> {
  await tx
    .insertInto('usage_hours')
    .values({
      app_env_id: run.appEnvId,
      hour_ms: hour.hourMs,
      account_id: run.accountId,
      container_seconds: hour.containerSeconds,
      z_cloud_seconds: hour.zCloudSeconds,
      billed_z_cloud_seconds: hour.billedZCloudSeconds,
    })
    .onConflict((conflict) =>
      conflict.columns(['app_env_id', 'hour_ms']).doUpdateSet((e) => ({
        container_seconds: e('usage_hours.container_seconds', '+', hour.containerSeconds),
        z_cloud_seconds: e('usage_hours.z_cloud_seconds', '+', hour.zCloudSeconds),
        billed_z_cloud_seconds: e('usage_hours.billed_z_cloud_seconds', '+', hour.billedZCloudSeconds),
      })),
    )
    .execute()
}

function runOf(row: {
  container: string
  app_env_id: string
  account_id: string
  z_clouds: number
  rate_multiplier: number
  started_ms: number
  finished_ms: number | null
}): StoredRun {
  return {
    container: row.container,
    appEnvId: row.app_env_id,
    accountId: row.account_id,
    zClouds: row.z_clouds,
    rateMultiplier: row.rate_multiplier,
    // PostgreSQL returns wide integers as text.
    startedMs: Number(row.started_ms),
    finishedMs: row.finished_ms === null ? null : Number(row.finished_ms),
  }
}
