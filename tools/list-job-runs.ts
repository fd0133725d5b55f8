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
  point: ({ jobRuns, pagination }) =>
    jobRuns.length === pagination.total
      ? `${pagination.total} run(s), newest first.`
      : `${jobRuns.length} of ${pagination.total} runs, newest first.`,
})
