import { startAppEnv } from '../src/contract/app-env-actions.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: startAppEnv,
  group: 'apps',
  title: 'Start environment',
  description: 'Starts a stopped environment: turns on, brings back online.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: true },
  checks: [environmentAccessible],
  waits: true,
})
