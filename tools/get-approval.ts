import { getApproval } from '../src/contract/approvals.ts'
import { approvalSentence } from '../src/mcp/tools/approval-sentence.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getApproval,
  group: 'access',
  title: 'Read approval',
  description: 'Reads an approval: status, decisions, results. waitSeconds waits for the decision.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  referredInputs: { waitSeconds: '' },
  point: (approval) => approvalSentence(approval),
})
