import { proposePlan } from '../src/contract/approvals.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: proposePlan,
  group: 'access',
  title: 'Propose plan',
  description:
    'Proposes writes, also ones you may not do, as one plan that a person approves. A step: operation id and input.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  point: ({ approvalId, url, steps }) =>
    `${approvalId} with ${steps.length} steps waits for a person at ${url}. get-approval with waitSeconds waits for the decision.`,
})
