import { restoreAppEnvBackup } from '../src/contract/backups.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { dataEffects } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: restoreAppEnvBackup,
  group: 'databases',
  title: 'Restore backup',
  description: 'Replaces ALL data of a database or volume with a backup. confirm: its cliEnvName.',
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
  checks: [environmentAccessible],
  destroys: dataEffects,
})
