import { getJobRun } from '../contract/jobs.ts'
import { jobRunAnswer } from '../domain/job-run.ts'
import { handler } from './handler.ts'

export default handler(getJobRun, async (_context, _input, { jobRun }) => ({
  answer: {
    jobRun: jobRunAnswer(jobRun),
    ...(jobRun.snapshotFrom && { snapshotFrom: jobRun.snapshotFrom }),
  },
}))
