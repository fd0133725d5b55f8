import { redeployAppEnv } from '../src/contract/deployments.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: redeployAppEnv,
  group: 'deploys',
  title: 'Redeploy or roll back',
  description:
    'Rolls back to an earlier (previous, last good) version of a broken release, with its settings, or deploys the same again.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  peopleInputs: ['rolloutId'],
  referredInputs: { includeChangesOf: '', settings: '' },
  checks: [environmentAccessible],
  waits: true,
})
