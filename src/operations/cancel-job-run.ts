import { cancelJobRun } from '../contract/jobs.ts'
import { isOver, type JobRun, jobRunAnswer, runOver } from '../domain/job-run.ts'
import { saveJobRun } from '../store/job-runs.ts'
import { type Context, handler } from './handler.ts'

/** The run is over at once; the scheduler stops its container. Canceling one that is over changes nothing. */
export default handler(cancelJobRun, async (context, _input, { jobRun, environment }) => {
  if (isOver(jobRun)) {
    return {
      answer: { jobRun: jobRunAnswer(jobRun) },
      effects: [`Nothing: the run is ${jobRun.status} already.`],
    }
  }
  const canceled = await cancelRun(context, jobRun)
  return {
    answer: { jobRun: jobRunAnswer(canceled) },
    change: {
      objectType: 'job-run',
      objectId: jobRun.jobRunId,
      accountId: environment.accountId,
      before: jobRunAnswer(jobRun),
      after: jobRunAnswer(canceled),
    },
    effects: ['Its container is stopped; no further attempt is made.'],
    wake: [environment.appEnvId],
  }
})

export async function cancelRun(context: Context, run: JobRun): Promise<JobRun> {
  const canceled = runOver(run, { status: 'CANCELED', exitCode: null, reason: 'Canceled' }, context.now)
  await saveJobRun(context.tx, canceled)
  return canceled
}
