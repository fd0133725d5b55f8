import { getPolicy } from '../src/contract/policy.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getPolicy,
  group: 'autonomy',
  title: 'Read policy',
  description:
    'Shows the policy of an account: rules, limits, freezes and budgets, what agents may do, what is forbidden, what a person must agree to.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ mode, rules, freezes, budgets }) =>
    `The policy is in mode ${mode}: ${rules.length} rules, ${freezes.length} freezes, ${budgets.length} budgets.`,
})
