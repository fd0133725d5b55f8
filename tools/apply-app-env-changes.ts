import { applyAppEnvChanges } from '../src/contract/app-env-actions.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: applyAppEnvChanges,
  group: 'deploys',
  title: 'Apply pending changes',
  description: 'Applies pending changes (builds, deploys or scales) and waits until done.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: true },
  checks: [environmentAccessible],
  waits: true,
})
