import { redeployAppEnv } from '../src/contract/deployments.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: redeployAppEnv,
  group: 'deploys',
  title: 'Redeploy or roll back',
  description:
    'Deploys the last good or an earlier version (rollback) with the variables and settings it ran with, and waits until it serves or has failed. Pending changes stay pending. get-app-env-history lists versions.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  unlistedInputs: ['dryRun', 'keepSecrets'],
  checks: [environmentAccessible],
  waits: true,
})
