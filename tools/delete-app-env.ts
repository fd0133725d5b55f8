import { deleteAppEnv } from '../src/contract/app-envs.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { environmentEffects } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: deleteAppEnv,
  group: 'apps',
  title: 'Delete environment',
  description:
    'Permanently deletes (removes, destroys, tears down) an environment or database that is not needed any more, with its volumes, uploads, logs and alerts. confirm: its cliEnvName.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  checks: [environmentAccessible],
  destroys: environmentEffects,
})
