import { getLogs } from '../contract/app-env-reads.ts'
import { listAttemptsOfRun } from '../store/job-runs.ts'
import { handler } from './handler.ts'
import { notFound } from './reach.ts'

/** With a job run: the lines of its attempts, whatever type was asked for. */
export default handler(getLogs, async ({ logs, tx }, input, { environment }) => {
  const { appEnvId: _id, envName: _name, jobRunId, ...query } = input
  const { appEnvId } = environment
  if (jobRunId === undefined) return { answer: { appEnvId, ...(await logs.read(appEnvId, query)) } }
  const attempts = await listAttemptsOfRun(tx, appEnvId, jobRunId)
  if (attempts === null) throw notFound('Job run')
  const podNames = attempts.map(({ containerName }) => containerName)
  return { answer: { appEnvId, ...(await logs.read(appEnvId, { ...query, type: 'JOB', podNames })) } }
})
