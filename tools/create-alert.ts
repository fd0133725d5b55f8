import { createAlert } from '../src/contract/alerts.ts'
import { metricMeasured } from '../src/mcp/alert-checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: createAlert,
  group: 'alerts',
  title: 'Create alert',
  description:
    'Creates an alert (admin): fires when a metric is above (gt) or below (lt) threshold for duration. Functions: ingress_ metrics only (F9).',
  hints: { readOnly: false, destructive: false, idempotent: false },
  checks: [metricMeasured],
  point: ({ message }) => message,
})
