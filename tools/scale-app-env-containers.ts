import { scaleAppEnvContainers } from '../src/contract/app-env-actions.ts'
import { isScalable } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: scaleAppEnvContainers,
  group: 'apps',
  title: 'Scale containers',
  description: 'Sets the number of containers of an app or database; functions: update-function-config (F8).',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  checks: [isScalable],
})
