import { createApp } from '../src/contract/apps.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: createApp,
  group: 'apps',
  title: 'Create app',
  description:
    'Creates (registers) an app: a new project, service. dockerPreset: FUNCTION scales to zero, CUSTOM builds a Dockerfile. Then create-app-env.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  referredInputs: { jobConfig: '', healthCheck: 'As create-app-env' },
  point: ({ appId }) => `App ${appId} is created. It has no environment yet; create one with create-app-env.`,
})
