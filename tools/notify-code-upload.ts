import { notifyCodeUpload } from '../src/contract/deployments.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: notifyCodeUpload,
  group: 'deploys',
  title: 'Build and deploy source',
  description: 'Builds and deploys uploaded code (archive, tarball).',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  referredInputs: { includeChangesOf: '' },
  checks: [environmentAccessible],
  waits: true,
})
