import { deleteAppEnvBackup } from '../src/contract/backups.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { backupEffects } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: deleteAppEnvBackup,
  group: 'databases',
  title: 'Delete backup',
  description: 'Deletes a backup and its file (admin). confirm: its backupId.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  destroys: backupEffects,
})
