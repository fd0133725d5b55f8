import { getAlert } from '../src/contract/alerts.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: getAlert,
  group: 'alerts',
  title: 'Read alert',
  description: 'Reads one alert: state, current value, last state changes, and which notices arrived.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  point: ({ name, lastKnownState, currentValue, unit }) =>
    `${name} is ${lastKnownState}${currentValue === null ? ', nothing measured' : ` at ${currentValue} ${unit}`}.`,
})
