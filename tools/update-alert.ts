import { updateAlert } from '../src/contract/alerts.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: updateAlert,
  group: 'alerts',
  title: 'Update alert',
  description:
    'Changes an alert (admin), fields as create-alert; what is left out stays. enabled false pauses it.',
  hints: { readOnly: false, destructive: false, idempotent: true },
  referredInputs: { metric: '', operator: '', duration: '', aggregation: '', queryRange: '' },
  point: ({ message }) => message,
})
