import { restoreAppEnvBackup } from '../src/contract/backups.ts'
import { environmentAccessible } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'
import { lossOfData } from '../src/mcp/losses.ts'

export default defineTool({
  operation: restoreAppEnvBackup,
  group: 'databases',
  title: 'Restore backup',
  description:
    "Replaces ALL data of a database environment by a backup's. The person is asked, or confirm must be its name.",
  hints: { readOnly: false, destructive: true, idempotent: false },
  checks: [environmentAccessible],
  destroys: lossOfData,
  unlistedInputs: ['dryRun', 'idempotencyKey', 'envName'],
})
