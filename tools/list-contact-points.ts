import { listContactPoints } from '../src/contract/contact-points.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: listContactPoints,
  group: 'alerts',
  title: 'List contact points',
  description: 'Lists the contact points of an account: where alerts send their notices.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  point: ({ contactPoints }) => `${contactPoints.length} contact point(s).`,
})
