import { redeployAppEnv } from '../src/contract/deployments.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: redeployAppEnv,
  group: 'deploys',
  title: 'Redeploy or roll back',
  description:
    'Rolls back to an earlier version with its settings (or settings: saved), or deploys the last good one again; waits until it serves.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  peopleInputs: ['rolloutId'],
  referredInputs: { includeChangesOf: '', settings: '' },
  checks: [environmentAccessible],
  waits: true,
})
