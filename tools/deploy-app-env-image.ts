import { deployAppEnvImage } from '../src/contract/deployments.ts'
import { environmentAccessible } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: deployAppEnvImage,
  group: 'deploys',
  title: 'Deploy image',
  description:
    'Deploys a prebuilt container image and waits until it serves or has failed. Apps need useImage; functions do not.',
  hints: { readOnly: false, destructive: false, idempotent: false },
  unlistedInputs: ['expectedRevision'],
  checks: [environmentAccessible],
  waits: true,
})
