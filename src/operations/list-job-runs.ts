import { listJobRuns } from '../contract/jobs.ts'
import { jobRunAnswer } from '../domain/job-run.ts'
import { listJobRuns as listStored } from '../store/job-runs.ts'
import { handler } from './handler.ts'

export default handler(listJobRuns, async ({ tx }, { limit, offset }, { environment }) => {
  const { runs, total } = await listStored(tx, environment.appEnvId, { limit, offset })
  const pagination = { limit, offset, total, hasMore: offset + runs.length < total }
  return { answer: { jobRuns: runs.map(jobRunAnswer), pagination } }
})
