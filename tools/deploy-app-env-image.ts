import { deployAppEnvImage } from '../src/contract/deployments.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: deployAppEnvImage,
  group: 'deploys',
  title: 'Deploy image',
  description:
    'Deploys a prebuilt image and waits until it serves or has failed. For a function, or an app created with useImage.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  unlistedInputs: ['dryRun', 'includeChangesOf'],
  checks: [environmentAccessible],
  waits: true,
})
