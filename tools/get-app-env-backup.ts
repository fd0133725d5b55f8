import { getAppEnvBackup } from '../src/contract/backups.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: getAppEnvBackup,
  group: 'databases',
  title: 'Get backup',
  description: 'Reads a backup and its restores: status, size, SHA-256, failure.',
  hints: { readOnly: true, destructive: false, idempotent: true },
})
