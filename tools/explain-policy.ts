import { explainPolicy } from '../src/contract/policy.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: explainPolicy,
  group: 'autonomy',
  title: 'Explain policy',
  description:
    'Says whether a call would be allowed, blocked (denied) or have to be approved by somebody under the policy, and by which rule. Changes nothing.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ operation, effect, ruleId, mode }) =>
    `${operation}: ${effect}${ruleId === null ? '' : ` by ${ruleId}`}${mode === 'observe' ? ', only observed' : ''}.`,
})
