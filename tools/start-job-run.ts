import { startJobRun } from '../src/contract/jobs.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { isAJob } from '../src/mcp/tools/job-checks.ts'

export default defineTool({
  operation: startJobRun,
  group: 'jobs',
  title: 'Start job run',
  description:
    'Runs (executes, kicks off) a job, such as a script, batch or migration, once and waits for its end; fields sent here, such as arguments, apply to this run only. With wait false, poll get-job-run.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  checks: [isAJob],
  waits: 'job-run',
  // Only for calls with wait false; other calls report the outcome of the run.
  point: ({ jobRun }) =>
    `Run ${jobRun.jobRunId} is ${jobRun.status}. Poll get-job-run until it has ended; cancel-job-run ends it.`,
})
