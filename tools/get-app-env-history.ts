import { getAppEnvHistory } from '../src/contract/app-env-reads.ts'
import { cut } from '../src/mcp/answer-size.ts'
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
