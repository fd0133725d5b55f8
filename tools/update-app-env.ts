import { updateAppEnv } from '../src/contract/app-envs.ts'
import { environmentAccessible } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'
import { lossOfOmittedVariables, saysRemovedVariables } from '../src/mcp/losses.ts'

export default defineTool({
  operation: updateAppEnv,
  group: 'apps',
  title: 'Update environment',
  description:
    'Changes an environment; pending until apply-app-env-changes. envVars REPLACES all variables (E1): to change some, use update-app-env-variables.',
  hints: { readOnly: false, destructive: true, idempotent: true },
  // Each has a tool of its own, or cannot change (D4).
  unlistedInputs: ['functionConfig', 'jobConfig', 'dockerPresetVersion'],
  checks: [environmentAccessible, saysRemovedVariables],
  destroys: lossOfOmittedVariables,
  asksOnly: true,
  point: ({ appEnvId }) =>
    `${appEnvId} is updated. What needs a deployment is pending until apply-app-env-changes.`,
})
