import { getJobRun } from '../src/contract/jobs.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getJobRun,
  group: 'jobs',
  title: 'Read job run',
  description:
    'Shows the result (outcome) of one job run: did it finish, succeed or fail; attempt, exit code, reason. For output: get-logs with appEnvId and jobRunId.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ jobRun }) =>
    `Run ${jobRun.jobRunId} is ${jobRun.status}${jobRun.exitCode === null ? '' : `, exit code ${jobRun.exitCode}`}.`,
})
