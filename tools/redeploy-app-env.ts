import { redeployAppEnv } from '../src/contract/deployments.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: redeployAppEnv,
  group: 'deploys',
  title: 'Redeploy or roll back',
  description:
    'Deploys the last good or an earlier version (get-app-env-history) with its settings, and waits until it serves or fails.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  unlistedInputs: ['dryRun', 'includeChangesOf', 'settings', 'keepSecrets'],
  checks: [environmentAccessible],
  waits: true,
})
