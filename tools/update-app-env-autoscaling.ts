import { updateAppEnvAutoscaling } from '../src/contract/app-env-actions.ts'
import { isScalable } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: updateAppEnvAutoscaling,
  group: 'apps',
  title: 'Configure autoscaling',
  description:
    'Sets CPU and memory autoscaling of an app. Not for functions (F8: use update-function-config), jobs or databases.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  unlistedInputs: ['scaleUpWindowSeconds', 'scaleDownWindowSeconds'],
  checks: [isScalable],
})
