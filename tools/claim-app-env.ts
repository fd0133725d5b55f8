import { claimAppEnv } from '../src/contract/claims.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: claimAppEnv,
  group: 'autonomy',
  title: 'Claim environment',
  description:
    'Claims (reserves, locks) an environment while you work on it, at most an hour, so that no other agent interferes: its writes get 409. Claiming again extends it.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  checks: [environmentAccessible],
  namesEnvironment: true,
  point: ({ claim }, _input, envName) => `${envName} is claimed until ${claim.until}.`,
})
