import { updateAppEnvVariables } from '../src/contract/app-env-actions.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { unsetVariableEffects } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: updateAppEnvVariables,
  group: 'apps',
  title: 'Set variables',
  description:
    'Sets or removes some environment variables (API keys); from: of another environment, or url, host, port, user, password, name of a database. Pending until apply-app-env-changes.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  checks: [environmentAccessible],
  destroys: unsetVariableEffects,
})
