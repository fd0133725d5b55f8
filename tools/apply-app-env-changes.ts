import { applyAppEnvChanges } from '../src/contract/app-env-actions.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: applyAppEnvChanges,
  group: 'deploys',
  title: 'Apply pending changes',
  description: 'Puts pending (saved) changes live, activates them; waits until they take effect.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: true },
  referredInputs: { includeChangesOf: '' },
  checks: [environmentAccessible],
  waits: true,
})
