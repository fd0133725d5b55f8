import { createAlert } from '../src/contract/alerts.ts'
import { metricCollected } from '../src/mcp/tools/alert-checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: createAlert,
  group: 'alerts',
  title: 'Create alert',
  description:
    'Creates an alert (admin): fires when a metric stays above (gt) or below (lt) threshold for duration. Latency in s, cpu_usage in millicores, memory_usage in MB. Functions: ingress_ only (F9).',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  // Their defaults fit nearly every alert; update-alert lists them.
  unlistedInputs: ['aggregation', 'queryRange', 'description', 'dryRun'],
  checks: [metricCollected],
  point: ({ message }) => message,
})
