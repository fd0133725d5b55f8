import { getJobRun } from '../src/contract/jobs.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: getJobRun,
  group: 'jobs',
  title: 'Read job run',
  description:
    'Reads one job run: status, attempt, exit code, reason, snapshot. Its output: get-logs with its appEnvId and jobRunId.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  point: ({ jobRun }) =>
    `Run ${jobRun.jobRunId} is ${jobRun.status}${jobRun.exitCode === null ? '' : `, exit code ${jobRun.exitCode}`}.`,
})
