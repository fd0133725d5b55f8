import { updateContactPoint } from '../src/contract/contact-points.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: updateContactPoint,
  group: 'alerts',
  title: 'Update contact point',
  description:
    'Changes (renames) a contact point, a notification channel or receiver (admin): its name, Slack webhook or e-mail addresses. Omitted keys keep their values; a new url requires the password again.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  point: ({ message }) => message,
})
