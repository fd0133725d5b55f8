import { deployAppEnvImage } from '../src/contract/deployments.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: deployAppEnvImage,
  group: 'deploys',
  title: 'Deploy image',
  description: 'Deploys a Docker image (container, tag): puts a new release live. Apps need useImage.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  referredInputs: { includeChangesOf: '' },
  checks: [environmentAccessible],
  waits: true,
})
