import { withdrawApproval } from '../src/contract/approvals.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: withdrawApproval,
  group: 'access',
  title: 'Withdraw approval',
  description: 'Takes back your pending request for approval.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  point: ({ approvalId }) => `${approvalId} is withdrawn.`,
})
