import { getPolicy } from '../src/contract/policy.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getPolicy,
  group: 'autonomy',
  title: 'Read policy',
  description:
    'Reads the rules, freezes and budgets of an account: what agents may do, what a person must agree to.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ mode, rules, freezes, budgets }) =>
    `The policy is in mode ${mode}: ${rules.length} rules, ${freezes.length} freezes, ${budgets.length} budgets.`,
})
