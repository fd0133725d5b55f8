import { listJobRuns } from '../../contract/jobs.ts'
import { jobRunResponse } from '../../domain/jobs/run.ts'
import { listJobRuns as listStored } from '../../store/repositories/job-runs.ts'
import { handler } from '../core/handler.ts'

export default handler(listJobRuns, async ({ tx }, { limit, offset, status }, { environment }) => {
  const { runs, total } = await listStored(tx, environment.appEnvId, { limit, offset, status })
  const pagination = { limit, offset, total, hasMore: offset + runs.length < total }
  return { answer: { jobRuns: runs.map(jobRunResponse), pagination } }
})
