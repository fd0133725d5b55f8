import { releaseAppEnv } from '../src/contract/claims.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: releaseAppEnv,
  group: 'autonomy',
  title: 'Release environment',
  description:
    'Ends (gives up) a claim, reservation or lock of claim-app-env when you are done: unlocks the environment, so that other agents can work on it.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentAccessible],
  namesEnvironment: true,
  point: (_answer, _input, envName) => `The claim of ${envName} is released.`,
})
