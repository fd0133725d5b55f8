import { restoreAppEnvBackup } from '../src/contract/backups.ts'
import { environmentAccessible, lossOfData } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: restoreAppEnvBackup,
  group: 'databases',
  title: 'Restore backup',
  description:
    "Replaces ALL data of a database environment by a backup's; for a copy, create an environment of the same preset first. The person is asked, or confirm must be the environment name. Poll get-app-env-backup.",
  hints: { readOnly: false, destructive: true, idempotent: false },
  checks: [environmentAccessible],
  destroys: lossOfData,
})
