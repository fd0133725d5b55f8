import { listAlerts } from '../src/contract/alerts.ts'
import { environmentNamed } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: listAlerts,
  group: 'alerts',
  title: 'List alerts',
  description: 'Lists the alerts of an environment with their states.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  checks: [environmentNamed],
  point: ({ alerts }) =>
    `${alerts.length} alert(s), ${alerts.filter((alert) => alert.lastKnownState === 'Firing').length} firing.`,
})
