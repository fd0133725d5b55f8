import { startJobRun } from '../src/contract/jobs.ts'
import { defineTool } from '../src/mcp/define-tool.ts'
import { isAJob, saysUnusedArgs } from '../src/mcp/job-checks.ts'

export default defineTool({
  operation: startJobRun,
  group: 'jobs',
  title: 'Start job run',
  description:
    "Runs a job's command once and waits until it has ended; fields given here hold for this run only. With wait false poll get-job-run.",
  hints: { readOnly: false, destructive: false, idempotent: false },
  unlistedInputs: ['expectedRevision', 'dryRun'],
  checks: [isAJob, saysUnusedArgs],
  waits: 'job-run',
  // Said where nobody waits; a run waited for says how it ended.
  point: ({ jobRun }) =>
    `Run ${jobRun.jobRunId} is ${jobRun.status}. Poll get-job-run until it has ended; cancel-job-run ends it.`,
})
