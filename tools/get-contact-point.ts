import { getContactPoint } from '../src/contract/contact-points.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: getContactPoint,
  group: 'alerts',
  title: 'Read contact point',
  description: 'Reads one contact point. Its address and secrets are not shown.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  secretInputs: ['showSecrets'],
  point: ({ name, type }) => `${name} is a contact point of type ${type}.`,
})
