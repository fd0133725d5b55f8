import { createContactPoint } from '../src/contract/contact-points.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: createContactPoint,
  group: 'alerts',
  title: 'Create contact point',
  description:
    'Creates a contact point (admin). config: chat webhookUrl; incident integrationKey; webhook url; email addresses; other keys optional. Then call test-contact-point.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  unlistedInputs: ['dryRun'],
  point: ({ message }) => message,
})
