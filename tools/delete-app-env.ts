import { deleteAppEnv } from '../src/contract/app-envs.ts'
import { environmentAccessible } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'
import { lossOfEnvironment } from '../src/mcp/losses.ts'

export default defineTool({
  operation: deleteAppEnv,
  group: 'apps',
  title: 'Delete environment',
  description:
    'Deletes an environment with its containers, volumes, uploads, logs and alerts, for good. The person is asked, or confirm must be its exact name.',
  hints: { readOnly: false, destructive: true, idempotent: true },
  checks: [environmentAccessible],
  destroys: lossOfEnvironment,
})
