import { counted } from '../src/amounts.ts'
import { listContactPoints } from '../src/contract/contact-points.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listContactPoints,
  group: 'alerts',
  title: 'List contact points',
  description: 'Lists where alerts go: notification channels, who is notified.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ contactPoints }) => `${counted(contactPoints.length, 'contact point')}.`,
})
