import { listApprovals } from '../src/contract/approvals.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listApprovals,
  group: 'access',
  title: 'List approvals',
  description: 'Lists requests for approval: waiting (queue) and decided.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  referredInputs: { status: '' },
  defaults: { limit: 5 },
  point: ({ approvals, pending, total }) =>
    `${approvals.length} of ${total} approvals, newest first; ${pending} wait.`,
})
