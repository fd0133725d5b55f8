import { rotateDatabasePassword } from '../src/contract/databases.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { passwordEffects } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: rotateDatabasePassword,
  group: 'databases',
  title: 'Rotate database password',
  description:
    'Changes (replaces) the password (credentials) of a PostgreSQL, MySQL or Redis database with a new one, as after a leak; no answer shows it (admin). confirm: its cliEnvName.',
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
  destroys: passwordEffects,
})
