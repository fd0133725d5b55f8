import { counted } from '../src/amounts.ts'
import { listMembers } from '../src/contract/members.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listMembers,
  group: 'access',
  title: 'List members',
  description: 'Lists people (team, users) of an account and permissions. Needs Manage Members.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ members }) => `${counted(members.length, 'member')}.`,
})
