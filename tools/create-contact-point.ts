import { createContactPoint } from '../src/contract/contact-points.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: createContactPoint,
  group: 'alerts',
  title: 'Create contact point',
  description:
    'Creates a contact point (admin). config: chat webhookUrl; incident integrationKey; webhook url; email addresses; other keys optional. Then try test-contact-point.',
  hints: { readOnly: false, destructive: false, idempotent: false },
  point: ({ message }) => message,
})
