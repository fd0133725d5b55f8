import { createApp } from '../src/contract/apps.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: createApp,
  group: 'apps',
  title: 'Create app',
  description:
    'Creates an app; then create-app-env. dockerPreset: FUNCTION scales to zero, JOB runs a job, CUSTOM builds a Dockerfile.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  referredInputs: { jobConfig: 'As update-job-config', healthCheck: 'As create-app-env' },
  point: ({ appId }) => `App ${appId} is created. It has no environment yet; create one with create-app-env.`,
})
