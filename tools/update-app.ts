import { updateApp } from '../src/contract/apps.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: updateApp,
  group: 'apps',
  title: 'Update app',
  description: 'Changes name, port, image, preset or Dockerfile of an app; redeploy-app-env applies it.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  referredInputs: { dockerPreset: 'As create-app' },
  point: ({ message }) => message,
})
