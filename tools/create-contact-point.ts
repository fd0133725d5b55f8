import { createContactPoint } from '../src/contract/contact-points.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: createContactPoint,
  group: 'alerts',
  title: 'Create contact point',
  description: 'Adds where alerts go (admin): chat (Slack), incident (PagerDuty), webhook, email address.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  referredInputs: { type: '' },
  // Only people see it: the agent needs no signature.
  shorten: ({ signingSecret: _signingSecret, ...answer }) => answer,
  point: ({ message }) => message,
})
