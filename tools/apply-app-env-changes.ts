import { applyAppEnvChanges } from '../src/contract/app-env-actions.ts'
import { environmentAccessible } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: applyAppEnvChanges,
  group: 'deploys',
  title: 'Apply pending changes',
  description:
    'Applies the pending changes of an environment: builds, deploys or scales as they need, and waits for the end.',
  hints: { readOnly: false, destructive: false, idempotent: true },
  checks: [environmentAccessible],
  waits: true,
})
