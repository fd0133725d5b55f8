import { startJobRun } from '../src/contract/jobs.ts'
import { isAJob } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: startJobRun,
  group: 'jobs',
  title: 'Start job run',
  description:
    "Runs a job's command once and waits until it has ended; fields given here hold for this run only. With wait false answers at once: poll get-job-run with jobRunId.",
  hints: { readOnly: false, destructive: false, idempotent: false },
  checks: [isAJob],
  waits: 'job-run',
})
