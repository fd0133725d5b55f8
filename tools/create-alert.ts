import { createAlert } from '../src/contract/alerts.ts'
import { metricCollected } from '../src/mcp/tools/alert-checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: createAlert,
  group: 'alerts',
  title: 'Create alert',
  description:
    'Sets up monitoring (admin): an alarm notifies or warns when a metric is above (gt) or below (lt) threshold; latency in s, memory in MB. Functions: ingress_.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  referredInputs: { operator: '', duration: '1m to 1h', aggregation: '', queryRange: '' },
  checks: [metricCollected],
  point: ({ message }) => message,
})
