import { createAppEnvBackup } from '../src/contract/backups.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: createAppEnvBackup,
  group: 'databases',
  title: 'Back up database',
  description:
    'Copies a PostgreSQL, MySQL or Redis database into a file while it serves. Poll get-app-env-backup until SUCCEEDED or FAILED.',
  hints: { readOnly: false, destructive: false, idempotent: false },
  unlistedInputs: ['dryRun'],
})
