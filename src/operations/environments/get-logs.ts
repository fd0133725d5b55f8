import { getLogs } from '../../contract/app-env-reads.ts'
import { listAttemptsOfRun } from '../../store/repositories/job-runs.ts'
import { notFound } from '../core/authorize.ts'
import { handler } from '../core/handler.ts'

/** With a job run, returns the lines of its attempts and ignores the requested type. */
export default handler(getLogs, async ({ logs, tx }, input, { environment }) => {
  const { appEnvId: _id, envName: _name, jobRunId, ...query } = input
  const { appEnvId } = environment
  if (jobRunId === undefined) return { answer: { appEnvId, ...(await logs.read(appEnvId, query)) } }
  const attempts = await listAttemptsOfRun(tx, appEnvId, jobRunId)
  if (attempts === null) throw notFound('job-run')
  const podNames = attempts.map(({ containerName }) => containerName)
  return { answer: { appEnvId, ...(await logs.read(appEnvId, { ...query, type: 'JOB', podNames })) } }
})
