import { stopAppEnv } from '../src/contract/app-env-actions.ts'
import { environmentAccessible } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'
import { lossOfService } from '../src/mcp/losses.ts'

export default defineTool({
  operation: stopAppEnv,
  group: 'apps',
  title: 'Stop environment',
  description:
    'Stops an environment: all its containers end, nothing answers until start-app-env. Settings and data stay.',
  hints: { readOnly: false, destructive: false, idempotent: true },
  unlistedInputs: ['expectedRevision', 'dryRun'],
  checks: [environmentAccessible],
  destroys: lossOfService,
  asksOnly: true,
})
