import { getAppEnvHistory } from '../src/contract/app-env-reads.ts'
import { environmentNamed } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: getAppEnvHistory,
  group: 'deploys',
  title: 'Environment history',
  description:
    'Lists what happened to an environment, newest first: deployments, starts, stops, changes, who did them.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  checks: [environmentNamed],
  point: ({ activities, pagination }) =>
    `${activities.length} of ${pagination.total} activities, newest first.`,
})
