import { updateAppEnvVariables } from '../src/contract/app-env-actions.ts'
import { environmentAccessible } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'
import { lossOfUnsetVariables } from '../src/mcp/losses.ts'

export default defineTool({
  operation: updateAppEnvVariables,
  group: 'apps',
  title: 'Set variables',
  description:
    'Sets or removes some environment variables; the others keep value, type and secret flag. Pending until apply-app-env-changes.',
  hints: { readOnly: false, destructive: true, idempotent: true },
  checks: [environmentAccessible],
  destroys: lossOfUnsetVariables,
  asksOnly: true,
})
