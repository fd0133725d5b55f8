import { listJobRuns } from '../src/contract/jobs.ts'
import { environmentNamed } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: listJobRuns,
  group: 'jobs',
  title: 'List job runs',
  description: 'Lists the runs of a job, newest first, with status and exit code.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  checks: [environmentNamed],
  defaults: { limit: 5 },
  point: ({ pagination }) => `${pagination.total} runs.`,
})
