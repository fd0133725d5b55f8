import { z } from 'zod'
import { isOpenRun, type StoredRun } from '../../domain/remediation/remediation.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

declare module '../db.ts' {
  interface Tables {
    remediation_runs: {
      run_id: string
      remediation_id: string
      app_env_id: string
      episode: string
      status: string
      is_open: number
      version: number
      record: string
      started_at: string
      /** When its steps began; null if they never did. */
      acted_at: string | null
    }
  }
}

const runRecord = recordReader<StoredRun>(
  'remediation_runs',
  'runId',
  z.object({ runId: z.string(), remediationId: z.string(), episode: z.string(), status: z.string() }),
)

/** False if the episode has its run already. */
export async function insertRun(tx: Tx, run: StoredRun): Promise<boolean> {
  const { runId, remediationId, appEnvId, episode, startedAt } = run
  const ids = { run_id: runId, remediation_id: remediationId, app_env_id: appEnvId, episode }
  const inserted = await tx
    .insertInto('remediation_runs')
    .values({ ...ids, started_at: startedAt, ...columnsOf(run) })
    .onConflict((conflict) => conflict.columns(['remediation_id', 'episode']).doNothing())
    .executeTakeFirst()
  return Number(inserted.numInsertedOrUpdatedRows ?? 0) === 1
}

/** False if another transaction changed or removed it since it was read: nothing is stored then. */
export async function saveRun(tx: Tx, run: StoredRun): Promise<boolean> {
  const next = { ...run, version: run.version + 1 }
  const saved = await tx
    .updateTable('remediation_runs')
    .set(columnsOf(next))
    .where('run_id', '=', run.runId)
    .where('version', '=', run.version)
    .executeTakeFirst()
  return saved.numUpdatedRows === 1n
}

function columnsOf(run: StoredRun) {
  const { status, version, steps } = run
  const first = steps.find(({ auditId }) => auditId !== null) ?? steps[0]
  return {
    status,
    version,
    is_open: isOpenRun(run) ? 1 : 0,
    acted_at: first?.at ?? null,
    record: JSON.stringify(run),
  }
}

export async function findRun(tx: Tx, runId: string): Promise<StoredRun | null> {
  const row = await tx
    .selectFrom('remediation_runs')
    .select('record')
    .where('run_id', '=', runId)
    .executeTakeFirst()
  return runRecord.one(row)
}

/** Those that a worker has to advance, the oldest first; of one environment or remediation, or all. */
export async function listOpenRuns(
  tx: Tx,
  of: { appEnvId?: string; remediationId?: string } = {},
): Promise<StoredRun[]> {
  let query = tx.selectFrom('remediation_runs').select('record').where('is_open', '=', 1)
  if (of.appEnvId !== undefined) query = query.where('app_env_id', '=', of.appEnvId)
  if (of.remediationId !== undefined) query = query.where('remediation_id', '=', of.remediationId)
  return runRecord.all(await query.orderBy('started_at').orderBy('run_id').execute())
}

/** The runs of an episode, the oldest remediation first. */
export async function listRunsOfEpisode(tx: Tx, episode: string): Promise<StoredRun[]> {
  const rows = await tx
    .selectFrom('remediation_runs')
    .select('record')
    .where('episode', '=', episode)
    .orderBy('started_at')
    .orderBy('run_id')
    .execute()
  return runRecord.all(rows)
}

/** Newest first. */
export async function listRuns(
  tx: Tx,
  of: { remediationId: string } | { appEnvId: string; from: string; to: string },
  page: { status?: string | undefined; limit: number; offset: number },
): Promise<{ runs: StoredRun[]; total: number }> {
  let query = tx.selectFrom('remediation_runs')
  if ('remediationId' in of) query = query.where('remediation_id', '=', of.remediationId)
  else
    query = query
      .where('app_env_id', '=', of.appEnvId)
      .where('started_at', '>=', of.from)
      .where('started_at', '<=', of.to)
  if (page.status !== undefined) query = query.where('status', '=', page.status)
  const count = await query.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirst()
  const rows = await query
    .select('record')
    .orderBy('started_at', 'desc')
    .orderBy('run_id')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  return { runs: runRecord.all(rows), total: Number(count?.total ?? 0) }
}

/** Runs of a remediation whose steps began since a time, newest first. */
export async function listRunsThatActed(tx: Tx, remediationId: string, since: string): Promise<StoredRun[]> {
  const rows = await tx
    .selectFrom('remediation_runs')
    .select('record')
    .where('remediation_id', '=', remediationId)
    .where('acted_at', '>=', since)
    .orderBy('acted_at', 'desc')
    .execute()
  return runRecord.all(rows)
}

/** Notes that the trigger of an episode is over. */
export async function endEpisode(tx: Tx, episode: string, endedAt: string): Promise<void> {
  for (const run of await listRunsOfEpisode(tx, episode))
    if (run.trigger.endedAt === null) await saveRun(tx, { ...run, trigger: { ...run.trigger, endedAt } })
}

const keptRuns = 200

/** Drops the oldest runs of a remediation beyond those that are kept. */
export async function forgetOldRuns(tx: Tx, remediationId: string): Promise<void> {
  const old = await tx
    .selectFrom('remediation_runs')
    .select('started_at')
    .where('remediation_id', '=', remediationId)
    .orderBy('started_at', 'desc')
    .offset(keptRuns)
    .limit(1)
    .executeTakeFirst()
  if (!old) return
  await tx
    .deleteFrom('remediation_runs')
    .where('remediation_id', '=', remediationId)
    .where('is_open', '=', 0)
    .where('started_at', '<=', old.started_at)
    .execute()
}
