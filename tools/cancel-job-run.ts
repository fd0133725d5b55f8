import { cancelJobRun } from '../src/contract/jobs.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { runEffect } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: cancelJobRun,
  group: 'jobs',
  title: 'Cancel job run',
  description:
    'Cancels (aborts, stops, kills) a job run (batch, execution) that is still running: ends its container, without further attempts.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  destroys: runEffect,
  point: ({ jobRun }) => `Run ${jobRun.jobRunId} is ${jobRun.status}.`,
})
