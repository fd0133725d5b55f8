import { proposePlan } from '../src/contract/approvals.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: proposePlan,
  group: 'access',
  title: 'Propose plan',
  description:
    'Proposes several writes as one plan that a person approves or denies as a whole, also writes that you may not do. Nothing changes before. Each step is an operation id with its input.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  point: ({ approvalId, url, steps }) =>
    `${approvalId} with ${steps.length} steps waits for a person at ${url}. get-approval with waitSeconds waits for the decision.`,
})
