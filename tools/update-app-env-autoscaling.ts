import { updateAppEnvAutoscaling } from '../src/contract/app-env-actions.ts'
import { isScalable } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: updateAppEnvAutoscaling,
  group: 'apps',
  title: 'Configure autoscaling',
  description: 'Sets CPU and memory autoscaling of an app; functions: update-function-config (F8).',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  checks: [isScalable],
})
