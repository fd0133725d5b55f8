import { restartAppEnv } from '../src/contract/app-env-actions.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: restartAppEnv,
  group: 'apps',
  title: 'Restart environment',
  description:
    'Restarts (reboots, bounces) an environment, as when it hangs, like turning it off and on again but without downtime: replaces the containers and waits until the new ones serve.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  checks: [environmentAccessible],
  waits: true,
})
