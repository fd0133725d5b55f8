import { redeployAppEnv } from '../src/contract/deployments.ts'
import { environmentAccessible } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: redeployAppEnv,
  group: 'deploys',
  title: 'Redeploy or roll back',
  description:
    'Deploys the current version again, or an earlier one (rollback), and waits until it serves or has failed. get-app-env-history lists versions.',
  hints: { readOnly: false, destructive: false, idempotent: false },
  unlistedInputs: ['expectedRevision', 'idempotencyKey'],
  checks: [environmentAccessible],
  waits: true,
})
