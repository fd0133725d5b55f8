import { sql } from 'kysely'
import { z } from 'zod'
import type { JobAttempt, JobRun } from '../../domain/jobs/run.ts'
import type { Tx } from '../db.ts'
import { inChunks } from '../in-chunks.ts'
import { recordReader } from '../record.ts'

const runRecord = recordReader<JobRun>(
  'job_runs',
  'jobRunId',
  z.object({
    jobRunId: z.string(),
    appEnvId: z.string(),
    accountId: z.string(),
    number: z.number(),
    region: z.string(),
    status: z.string(),
    attempt: z.number(),
    snapshot: z.object({ contentId: z.string(), image: z.string(), backoffLimit: z.number() }),
  }),
)

const attemptRecord = recordReader<JobAttempt>(
  'job_attempts',
  'attemptId',
  z.object({
    attemptId: z.string(),
    jobRunId: z.string(),
    appEnvId: z.string(),
    number: z.number(),
    containerName: z.string(),
    state: z.enum(['creating', 'started', 'ended', 'gone']),
  }),
)

const activeStatuses = ['PENDING', 'RUNNING']
const liveStates = ['creating', 'started']

export async function findJobRun(tx: Tx, jobRunId: string): Promise<JobRun | null> {
  const row = await tx
    .selectFrom('job_runs')
    .select('record')
    .where('job_run_id', '=', jobRunId)
    .executeTakeFirst()
  return runRecord.one(row)
}

export async function nextJobRunNumber(tx: Tx, appEnvId: string): Promise<number> {
  const row = await tx
    .selectFrom('job_runs')
    .select((e) => e.fn.max('number').as('number'))
    .where('app_env_id', '=', appEnvId)
    .executeTakeFirst()
  return Number(row?.number ?? 0) + 1
}

export async function insertJobRun(tx: Tx, run: JobRun): Promise<void> {
  await tx
    .insertInto('job_runs')
    .values({
      job_run_id: run.jobRunId,
      app_env_id: run.appEnvId,
      number: run.number,
      status: run.status,
      record: JSON.stringify(run),
      created_at: run.createdAt,
    })
    .execute()
}

export async function saveJobRun(tx: Tx, run: JobRun): Promise<void> {
  await tx
    .updateTable('job_runs')
    .set({ status: run.status, record: JSON.stringify(run) })
    .where('job_run_id', '=', run.jobRunId)
    .execute()
}

/** Newest first. */
export async function listJobRuns(
  tx: Tx,
  appEnvId: string,
  page: { limit: number; offset: number; status?: JobRun['status'] | undefined },
): Promise<{ runs: JobRun[]; total: number }> {
  let query = tx.selectFrom('job_runs').where('app_env_id', '=', appEnvId)
  if (page.status !== undefined) query = query.where('status', '=', page.status)
  const count = await query.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirst()
  const rows = await query
    .select(sized)
    .orderBy('number', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  return { runs: await load(tx, rows), total: Number(count?.total ?? 0) }
}

const sized = ['job_run_id as key', sql<number>`octet_length(record)`.as('bytes')] as const

/** In the order of `rows`. */
async function load(tx: Tx, rows: { key: string; bytes: number }[]): Promise<JobRun[]> {
  const runs = new Map<string, JobRun>()
  const found = inChunks(rows, (keys) =>
    tx.selectFrom('job_runs').select('record').where('job_run_id', 'in', keys).execute(),
  )
  for await (const row of found) for (const run of runRecord.all([row])) runs.set(run.jobRunId, run)
  return rows.flatMap(({ key }) => runs.get(key) ?? [])
}

/** Unfinished runs, oldest first: of one environment or of all. */
export async function listActiveJobRuns(tx: Tx, appEnvId?: string): Promise<JobRun[]> {
  let query = tx.selectFrom('job_runs').select(sized).where('status', 'in', activeStatuses)
  if (appEnvId !== undefined) query = query.where('app_env_id', '=', appEnvId)
  return load(tx, await query.orderBy('created_at').orderBy('number').execute())
}

export async function countActiveJobRuns(tx: Tx, appEnvId: string): Promise<number> {
  const row = await tx
    .selectFrom('job_runs')
    .select((e) => e.fn.countAll<number>().as('active'))
    .where('app_env_id', '=', appEnvId)
    .where('status', 'in', activeStatuses)
    .executeTakeFirst()
  return Number(row?.active ?? 0)
}

export async function findJobAttempt(tx: Tx, attemptId: string): Promise<JobAttempt | null> {
  const row = await tx
    .selectFrom('job_attempts')
    .select('record')
    .where('attempt_id', '=', attemptId)
    .executeTakeFirst()
  return attemptRecord.one(row)
}

/** Every attempt of a run in order; null if the environment has no such run. */
export async function listAttemptsOfRun(
  tx: Tx,
  appEnvId: string,
  jobRunId: string,
): Promise<JobAttempt[] | null> {
  if ((await findJobRun(tx, jobRunId))?.appEnvId !== appEnvId) return null
  const rows = await tx
    .selectFrom('job_attempts')
    .select('record')
    .where('job_run_id', '=', jobRunId)
    .orderBy('number')
    .execute()
  return attemptRecord.all(rows)
}

/** The number of an attempt is unique in its run, so two schedulers never start the same one. */
export async function insertJobAttempt(tx: Tx, attempt: JobAttempt): Promise<void> {
  await tx
    .insertInto('job_attempts')
    .values({
      attempt_id: attempt.attemptId,
      job_run_id: attempt.jobRunId,
      app_env_id: attempt.appEnvId,
      number: attempt.number,
      state: attempt.state,
      record: JSON.stringify(attempt),
      created_at: attempt.createdAt,
    })
    .execute()
}

export async function saveJobAttempt(tx: Tx, attempt: JobAttempt): Promise<void> {
  await tx
    .updateTable('job_attempts')
    .set({ state: attempt.state, record: JSON.stringify(attempt) })
    .where('attempt_id', '=', attempt.attemptId)
    .execute()
}

/** Unfinished attempts: of one environment or of all. */
export async function listLiveJobAttempts(tx: Tx, appEnvId?: string): Promise<JobAttempt[]> {
  let query = tx.selectFrom('job_attempts').select('record').where('state', 'in', liveStates)
  if (appEnvId !== undefined) query = query.where('app_env_id', '=', appEnvId)
  return attemptRecord.all(await query.execute())
}

/** Finished attempts whose containers still exist, with their runs: those that ran in some regions, or in all. */
export async function listKeptJobAttempts(
  tx: Tx,
  regions?: readonly string[],
): Promise<{ run: JobRun; attempt: JobAttempt }[]> {
  const rows = await tx
    .selectFrom('job_attempts')
    .innerJoin('job_runs', 'job_runs.job_run_id', 'job_attempts.job_run_id')
    .select(['job_attempts.record as attempt', 'job_runs.record as run'])
    .where('job_attempts.state', '=', 'ended')
    .execute()
  return rows
    .map(({ run, attempt }) => ({ run: runRecord.parse(run), attempt: attemptRecord.parse(attempt) }))
    .filter(({ run }) => regions?.includes(run.region) ?? true)
}

/** Ids of all attempts that may have a container; containers of other ids may be removed. */
export async function listJobAttemptIds(tx: Tx): Promise<string[]> {
  const rows = await tx
    .selectFrom('job_attempts')
    .select('attempt_id')
    .where('state', '!=', 'gone')
    .where('app_env_id', 'in', tx.selectFrom('app_envs').select('app_env_id'))
    .execute()
  return rows.map((row) => row.attempt_id)
}

/** The newest attempts of an environment, in any state. */
export async function listJobAttempts(tx: Tx, appEnvId: string, limit: number): Promise<JobAttempt[]> {
  const rows = await tx
    .selectFrom('job_attempts')
    .innerJoin('job_runs', 'job_runs.job_run_id', 'job_attempts.job_run_id')
    .select('job_attempts.record as record')
    .where('job_attempts.app_env_id', '=', appEnvId)
    .orderBy('job_runs.number', 'desc')
    .orderBy('job_attempts.number', 'desc')
    .limit(limit)
    .execute()
  return attemptRecord.all(rows)
}
