import { restartAppEnv } from '../src/contract/app-env-actions.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: restartAppEnv,
  group: 'apps',
  title: 'Restart environment',
  description: 'Replaces the running containers without downtime and waits until the new ones serve.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  checks: [environmentAccessible],
  waits: true,
})
