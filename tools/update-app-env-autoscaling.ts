import { updateAppEnvAutoscaling } from '../src/contract/app-env-actions.ts'
import { isScalable } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: updateAppEnvAutoscaling,
  group: 'apps',
  title: 'Configure autoscaling',
  description: 'Scales an app automatically: adds instances with CPU or memory load. Not for functions.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  checks: [isScalable],
})
