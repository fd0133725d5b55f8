import { getAppEnvHistory } from '../src/contract/app-env-reads.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { cut } from '../src/mcp/tools/result-size.ts'

export default defineTool({
  operation: getAppEnvHistory,
  group: 'deploys',
  title: 'Environment history',
  description: 'Lists past deployments (deploys, releases, versions), starts, stops and changes.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  defaults: { limit: 10 },
  shorten: (answer) => ({
    ...answer,
    activities: answer.activities.map((activity) => ({
      ...activity,
      details: activity.details === null ? null : cut(activity.details, 160),
    })),
  }),
  point: ({ activities, pagination }) =>
    `${activities.length} of ${pagination.total} activities, newest first.`,
})
