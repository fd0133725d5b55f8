import { counted } from '../src/amounts.ts'
import { explainAccess } from '../src/contract/audit.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: explainAccess,
  group: 'access',
  title: 'Explain access',
  description:
    'Explains who can see (reach) or do what on an environment, or why a member is not allowed, and by which rule. Without Manage Members: only the caller.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  point: ({ members }) =>
    `${members.filter(({ operates }) => operates).length} of ${counted(members.length, 'listed member')} can access it.`,
})
