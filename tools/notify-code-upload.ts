import { notifyCodeUpload } from '../src/contract/deployments.ts'
import { environmentAccessible } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: notifyCodeUpload,
  group: 'deploys',
  title: 'Build and deploy source',
  description:
    'Builds the uploaded archive from its Dockerfile and deploys it; waits until it serves or has failed, and then shows the log.',
  hints: { readOnly: false, destructive: false, idempotent: false },
  unlistedInputs: ['expectedRevision', 'idempotencyKey'],
  checks: [environmentAccessible],
  waits: true,
})
