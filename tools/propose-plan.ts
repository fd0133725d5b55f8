import { proposePlan } from '../src/contract/approvals.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: proposePlan,
  group: 'access',
  title: 'Propose plan',
  description:
    'Asks a person to approve writes (steps: operation id, input) together, also ones you may not do.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  point: ({ approvalId, url, steps }) =>
    `${approvalId} with ${steps.length} steps waits for a person at ${url}. get-approval with waitSeconds waits for the decision.`,
})
