import { cancelJobRun } from '../../contract/jobs.ts'
import { isOver, type JobRun, jobRunResponse, runOver } from '../../domain/jobs/run.ts'
import { saveJobRun } from '../../store/repositories/job-runs.ts'
import { type Context, handler, noImpact } from '../core/handler.ts'
import { hasContainer } from '../environments/container-impact.ts'

/** Ends the run; the scheduler stops its container. Canceling a finished run has no effect. */
export default handler(cancelJobRun, async (context, _input, { jobRun, environment }) => {
  if (isOver(jobRun)) {
    return {
      answer: { jobRun: jobRunResponse(jobRun) },
      impact: noImpact,
      effects: [`No effect: the run is already ${jobRun.status}.`],
    }
  }
  const canceled = await cancelRun(context, jobRun)
  return {
    answer: { jobRun: jobRunResponse(canceled) },
    change: {
      objectType: 'job-run',
      objectId: jobRun.jobRunId,
      accountId: environment.accountId,
      before: jobRunResponse(jobRun),
      after: jobRunResponse(canceled),
    },
    impact: { actions: ['stop'], containersEnded: hasContainer(jobRun) ? 1 : 0 },
    effects: ['Its container is stopped; no further attempt is made.'],
    wake: [environment.appEnvId],
  }
})

export async function cancelRun(context: Context, run: JobRun): Promise<JobRun> {
  const canceled = runOver(run, { status: 'CANCELED', exitCode: null, reason: 'Canceled' }, context.now)
  await saveJobRun(context.tx, canceled)
  return canceled
}
