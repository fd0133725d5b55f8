import { getApproval } from '../src/contract/approvals.ts'
import { approvalSentence } from '../src/mcp/tools/approval-sentence.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getApproval,
  group: 'access',
  title: 'Read approval',
  description: 'Was a request approved or denied? Shows the decision and results.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  referredInputs: { waitSeconds: '' },
  point: (approval) => approvalSentence(approval),
})
