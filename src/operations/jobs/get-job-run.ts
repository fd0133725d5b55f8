import { getJobRun } from '../../contract/jobs.ts'
import { jobRunResponse } from '../../domain/jobs/run.ts'
import { handler } from '../core/handler.ts'

export default handler(getJobRun, async (_context, _input, { jobRun }) => ({
  answer: {
    jobRun: jobRunResponse(jobRun),
    ...(jobRun.snapshotFrom && { snapshotFrom: jobRun.snapshotFrom }),
  },
}))
