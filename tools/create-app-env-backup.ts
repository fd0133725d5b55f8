import { createAppEnvBackup } from '../src/contract/backups.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: createAppEnvBackup,
  group: 'databases',
  title: 'Back up database',
  description:
    'Copies a PostgreSQL, MySQL or Redis database to a file; list-app-env-backups tells its status.',
  hints: { readOnly: false, destructive: false, idempotent: false },
  unlistedInputs: ['dryRun', 'idempotencyKey', 'envName'],
})
