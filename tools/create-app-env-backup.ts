import { createAppEnvBackup } from '../src/contract/backups.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: createAppEnvBackup,
  group: 'databases',
  title: 'Create backup',
  description:
    'Backs up a PostgreSQL, MySQL or Redis database, or a volume, now: saves a copy (snapshot, dump) of the data. list-app-env-backups shows the status.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
})
