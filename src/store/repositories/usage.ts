import {
  type ContainerRun,
  type HourlyUsage,
  knownEnd,
  usageByHour,
} from '../../domain/environments/usage.ts'
import type { Tables, Tx } from '../db.ts'

export interface StoredRun extends ContainerRun {
  container: string
  appEnvId: string
  accountId: string
}

interface SeenRun extends StoredRun {
  /** When it was last seen running; 0 if never. */
  seenMs: number
}

type RunRow = Tables['container_runs']

const seenKey = 'usage_seen_ms'
const seenKeyOf = (node: string | null) => (node === null ? seenKey : `${seenKey}:${node}`)
const rowsAtOnce = 500

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
export async function listOpenRuns(tx: Tx, node: string | null = null): Promise<SeenRun[]> {
  const open = tx.selectFrom('container_runs').selectAll().where('finished_ms', 'is', null)
  const own = node === null ? open.where('node', 'is', null) : open.where('node', '=', node)
  return withSeen(tx, await own.execute())
}

/** The machine takes over the runs from the time when one control plane did all. */
export async function adoptRuns(tx: Tx, node: string): Promise<void> {
  await tx.updateTable('container_runs').set({ node }).where('node', 'is', null).execute()
  const seenMs = (await readSeen(tx, [null]))(null)
  if (seenMs > 0) await writeSeen(tx, seenMs, node)
}

/** Runs of an environment that had not ended at `fromMs`; `nowMs` decides which of them still go on. */
export async function listRuns(
  tx: Tx,
  appEnvId: string,
  { fromMs, nowMs }: { fromMs: number; nowMs: number },
): Promise<StoredRun[]> {
  const rows = await tx
    .selectFrom('container_runs')
    .selectAll()
    .where('app_env_id', '=', appEnvId)
    .where((e) => e.or([e('finished_ms', 'is', null), e('finished_ms', '>', fromMs)]))
    .execute()
  return withKnownEnd(tx, rows, nowMs)
}

/** Runs of an account that had not ended at `fromMs`, also of deleted environments; or only those of some. */
export async function listRunsOfAccount(
  tx: Tx,
  accountId: string,
  { fromMs, nowMs }: { fromMs: number; nowMs: number },
  onlyIds?: readonly string[] | null,
): Promise<StoredRun[]> {
  let query = tx
    .selectFrom('container_runs')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((e) => e.or([e('finished_ms', 'is', null), e('finished_ms', '>', fromMs)]))
  if (onlyIds) query = query.where('app_env_id', 'in', ['', ...onlyIds])
  return withKnownEnd(tx, await query.execute(), nowMs)
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
    .limit(rowsAtOnce)
    .execute()
  for (const run of rows.map(runOf)) {
    for (const hour of usageByHour([run], { fromMs: 0, toMs: beforeMs, nowMs: beforeMs })) {
      await addHour(tx, run, hour)
    }
    await tx.deleteFrom('container_runs').where('container', '=', run.container).execute()
  }
  return rows.length
}

/** Notes that all open runs of a meter were seen running. */
export async function writeSeen(tx: Tx, seenMs: number, node: string | null): Promise<void> {
  const value = String(seenMs)
  await tx
    .insertInto('installation')
    .values({ key: seenKeyOf(node), value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .execute()
}

/** Notes that these runs were seen running, while others of their machine could not be listed. */
export async function writeSeenOf(tx: Tx, containers: readonly string[], seenMs: number): Promise<void> {
  for (let from = 0; from < containers.length; from += rowsAtOnce)
    await tx
      .updateTable('container_runs')
      .set({ seen_ms: seenMs })
      .where('container', 'in', containers.slice(from, from + rowsAtOnce))
      .where('finished_ms', 'is', null)
      .execute()
}

/** When all open runs of each meter were last seen running; 0 if never. */
async function readSeen(tx: Tx, nodes: readonly (string | null)[]): Promise<(node: string | null) => number> {
  const keys = [...new Set(nodes.map(seenKeyOf))]
  const rows = await tx
    .selectFrom('installation')
    .selectAll()
    .where('key', 'in', ['', ...keys])
    .execute()
  const seen = new Map(rows.map(({ key, value }) => [key, Number(value)]))
  return (node) => seen.get(seenKeyOf(node)) ?? 0
}

async function withSeen(tx: Tx, rows: readonly RunRow[]): Promise<SeenRun[]> {
  const seenBy = await readSeen(
    tx,
    rows.map(({ node }) => node),
  )
  return rows.map((row) => ({ ...runOf(row), seenMs: Math.max(Number(row.seen_ms ?? 0), seenBy(row.node)) }))
}

async function withKnownEnd(tx: Tx, rows: readonly RunRow[], nowMs: number): Promise<StoredRun[]> {
  const runs = await withSeen(tx, rows)
  return runs.map(({ seenMs, ...run }) => ({ ...run, finishedMs: knownEnd(run, seenMs, nowMs) }))
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

function runOf(row: RunRow): StoredRun {
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
