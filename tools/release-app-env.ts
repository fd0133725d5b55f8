import { releaseAppEnv } from '../src/contract/claims.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: releaseAppEnv,
  group: 'autonomy',
  title: 'Release environment',
  description: 'Ends a claim of claim-app-env, so that other agents can work on the environment.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentAccessible],
  namesEnvironment: true,
  point: (_answer, _input, envName) => `The claim of ${envName} is released.`,
})
