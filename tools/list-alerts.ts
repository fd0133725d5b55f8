import { listAlerts } from '../src/contract/alerts.ts'
import { counted } from '../src/counted.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listAlerts,
  group: 'alerts',
  title: 'List alerts',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  point: ({ alerts }) => {
    const evaluated = alerts.filter((alert) => alert.enabled)
    const firing = evaluated.filter((alert) => alert.lastKnownState === 'Firing').length
    const paused = alerts.length - evaluated.length
    return `${counted(alerts.length, 'alert')}, ${firing} firing${paused === 0 ? '' : `, ${paused} paused`}.`
  },
})
