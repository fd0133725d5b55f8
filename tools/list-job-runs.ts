import { counted } from '../src/amounts.ts'
import { listJobRuns } from '../src/contract/jobs.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listJobRuns,
  group: 'jobs',
  title: 'List job runs',
  description:
    'Lists past runs (executions) of a job with status and exit code, newest first: which ran, succeeded or failed, and how often.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  defaults: { limit: 5 },
  point: ({ jobRuns, pagination }) =>
    jobRuns.length === pagination.total
      ? `${counted(pagination.total, 'run')}, newest first.`
      : `${jobRuns.length} of ${pagination.total} runs, newest first.`,
})
