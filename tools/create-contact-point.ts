import { createContactPoint } from '../src/contract/contact-points.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: createContactPoint,
  group: 'alerts',
  title: 'Create contact point',
  description:
    'Creates a contact point (admin): chat webhookUrl; incident integrationKey; webhook url; email addresses.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  referredInputs: { type: '' },
  // Only people see it: the agent needs no signature.
  shorten: ({ signingSecret: _signingSecret, ...answer }) => answer,
  point: ({ message }) => message,
})
