import { updateAlert } from '../src/contract/alerts.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: updateAlert,
  group: 'alerts',
  title: 'Update alert',
  description: 'Changes an alert (admin): threshold, duration it waits, channels; enabled false pauses it.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  referredInputs: { metric: '', operator: '', duration: '', aggregation: '', queryRange: '' },
  point: ({ message }) => message,
})
