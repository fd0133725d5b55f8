import type { LogLine } from '../../contract/app-env-reads.ts'
import type { Facts, JobRunFacts } from '../../domain/diagnosis/facts.ts'
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

/** The end of the output of the newest run, if it failed. */
export async function loadJobLog(
  { tx, logs }: Context,
  appEnvId: string,
  [newest]: Facts['jobRuns'],
): Promise<LogLine[]> {
  if (!newest || newest.status === 'SUCCEEDED') return []
  const attempts = (await listAttemptsOfRun(tx, appEnvId, newest.jobRunId)) ?? []
  const last = attempts.reduce((one, other) => (other.number > one.number ? other : one), attempts[0]!)
  if (!last) return []
  const query = { type: 'JOB', podNames: [last.containerName], size: linesRead } as const
  return (await logs.read(appEnvId, query)).logs
}
