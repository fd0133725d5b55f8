import { getContactPoint } from '../src/contract/contact-points.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getContactPoint,
  group: 'alerts',
  title: 'Read contact point',
  description:
    'Shows one contact point (receiver, destination, channel of alerts) and its configuration, without its address and secrets.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  secretInputs: ['showSecrets'],
  point: ({ contactPointId, type }) => `${contactPointId} is a contact point of type ${type}.`,
})
