import { updateAppEnvAutoscaling } from '../src/contract/app-env-actions.ts'
import { notADatabase, notAFunction, notAJob } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: updateAppEnvAutoscaling,
  group: 'apps',
  title: 'Configure autoscaling',
  description:
    'Sets autoscaling of a regular app on CPU and memory. Not for functions (F8: use update-function-config), jobs or databases.',
  hints: { readOnly: false, destructive: false, idempotent: true },
  checks: [notAFunction, notAJob, notADatabase],
})
