import { restoreAppEnvBackup } from '../src/contract/backups.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { dataEffects } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: restoreAppEnvBackup,
  group: 'databases',
  title: 'Restore backup',
  description:
    'Restores a backup (snapshot, dump) to recover lost data or bring back an earlier state: replaces ALL data of a database or volume. confirm: its cliEnvName.',
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
  task: 'restore',
  checks: [environmentAccessible],
  destroys: dataEffects,
})
