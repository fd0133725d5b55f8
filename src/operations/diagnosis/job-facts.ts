import type { Facts, JobRunFacts } from '../../domain/diagnosis/facts.ts'
import type { LogQuery } from '../../domain/environments/log-query.ts'
import { listAttemptsOfRun, listJobRuns } from '../../store/repositories/job-runs.ts'
import type { Context } from '../core/handler.ts'

const runsRead = 10
const linesRead = 60

/** Runs that ended by themselves, newest first. */
export async function loadJobRuns({ tx }: Context, appEnvId: string): Promise<Facts['jobRuns']> {
  const { runs } = await listJobRuns(tx, appEnvId, { limit: runsRead, offset: 0 })
  return runs.flatMap(({ jobRunId, status, exitCode, reason, finishedAt }): JobRunFacts[] =>
    status === 'SUCCEEDED' || status === 'FAILED' || status === 'TIMED_OUT'
      ? [{ jobRunId, status, exitCode, reason, finishedAt }]
      : [],
  )
}

/** Selects the end of the output of the newest run, if it failed. */
export async function jobLogQuery(
  { tx }: Context,
  appEnvId: string,
  [newest]: Facts['jobRuns'],
): Promise<LogQuery | null> {
  if (!newest || newest.status === 'SUCCEEDED') return null
  const attempts = (await listAttemptsOfRun(tx, appEnvId, newest.jobRunId)) ?? []
  const last = attempts.reduce((one, other) => (other.number > one.number ? other : one), attempts[0]!)
  return last ? { type: 'JOB', podNames: [last.containerName], size: linesRead } : null
}
