import { scaleAppEnvContainers } from '../src/contract/app-env-actions.ts'
import { isScalable } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: scaleAppEnvContainers,
  group: 'apps',
  title: 'Scale containers',
  description:
    'Sets how many containers (instances, replicas, servers) run: scale up or down. Not for functions.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  checks: [isScalable],
})
