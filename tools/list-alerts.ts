import { counted } from '../src/amounts.ts'
import { listAlerts } from '../src/contract/alerts.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listAlerts,
  group: 'alerts',
  title: 'List alerts',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  referredInputs: { state: '' },
  description: 'Lists alerts (alarms, monitors) and their states, firing first.',
  defaults: { limit: 20 },
  point: ({ alerts, pagination }) => {
    const { offset = 0, total = alerts.length } = pagination ?? {}
    const evaluated = alerts.filter((alert) => alert.enabled)
    const firing = evaluated.filter((alert) => alert.lastKnownState === 'Firing').length
    const paused = alerts.length - evaluated.length
    const shown = `${counted(alerts.length, 'alert')}, ${firing} firing${paused === 0 ? '' : `, ${paused} paused`}.`
    if (alerts.length === total) return shown
    const end = offset + alerts.length
    return `Of ${counted(total, 'alert')}: ${shown}${end < total ? ` offset ${end} shows more.` : ''}`
  },
})
