import { cancelJobRun } from '../src/contract/jobs.ts'
import { defineTool } from '../src/mcp/define-tool.ts'
import { lossOfRun } from '../src/mcp/losses.ts'

export default defineTool({
  operation: cancelJobRun,
  group: 'jobs',
  title: 'Cancel job run',
  description: 'Cancels a job run: its container is stopped, nothing is tried again.',
  hints: { readOnly: false, destructive: true, idempotent: true },
  unlistedInputs: ['dryRun'],
  destroys: lossOfRun,
  asksOnly: true,
  point: ({ jobRun }) => `Run ${jobRun.jobRunId} is ${jobRun.status}.`,
})
