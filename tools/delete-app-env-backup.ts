import { deleteAppEnvBackup } from '../src/contract/backups.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { backupEffects } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: deleteAppEnvBackup,
  group: 'databases',
  title: 'Delete backup',
  description:
    'Deletes (removes, throws away) an old backup (snapshot, dump) and its file to save space (admin). confirm: its backupId.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  destroys: backupEffects,
})
