import { scaleAppEnvContainers } from '../src/contract/app-env-actions.ts'
import { notAFunction, notAJob } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: scaleAppEnvContainers,
  group: 'apps',
  title: 'Scale containers',
  description:
    'Sets how many containers an app or database environment runs. Not for functions (F8: use update-function-config) or jobs.',
  hints: { readOnly: false, destructive: false, idempotent: true },
  checks: [notAFunction, notAJob],
})
