import { updateContactPoint } from '../src/contract/contact-points.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: updateContactPoint,
  group: 'alerts',
  title: 'Update contact point',
  description:
    'Changes name or config of a contact point (admin). Keys left out stay; a new url needs the password again.',
  hints: { readOnly: false, destructive: false, idempotent: true },
  point: ({ message }) => message,
})
