import { deleteAppEnv } from '../src/contract/app-envs.ts'
import { environmentAccessible } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'
import { lossOfEnvironment } from '../src/mcp/losses.ts'

export default defineTool({
  operation: deleteAppEnv,
  group: 'apps',
  title: 'Delete environment',
  description:
    'Deletes an environment with its containers, volumes, uploads, logs and alerts. Cannot be undone: the person is asked, or confirm must be the exact environment name.',
  hints: { readOnly: false, destructive: true, idempotent: true },
  checks: [environmentAccessible],
  destroys: lossOfEnvironment,
})
