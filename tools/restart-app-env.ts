import { restartAppEnv } from '../src/contract/app-env-actions.ts'
import { environmentAccessible } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: restartAppEnv,
  group: 'apps',
  title: 'Restart environment',
  description:
    'Replaces the running containers of an environment by fresh ones, without downtime, and waits until they serve.',
  hints: { readOnly: false, destructive: false, idempotent: false },
  unlistedInputs: ['expectedRevision', 'idempotencyKey', 'dryRun'],
  checks: [environmentAccessible],
  waits: true,
})
