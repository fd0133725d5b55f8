import { explainAccess } from '../src/contract/audit.ts'
import { environmentNamed } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: explainAccess,
  group: 'access',
  title: 'Explain access',
  description: 'Who can do what on an environment, and by which rule.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  checks: [environmentNamed],
  point: ({ members }) =>
    `${members.filter(({ operates }) => operates).length} of ${members.length} listed member(s) reach it.`,
})
