import { createApp } from '../src/contract/apps.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: createApp,
  group: 'apps',
  title: 'Create app',
  description:
    'Creates an app; then call create-app-env. dockerPreset: FUNCTION scales to zero, JOB runs a job, CUSTOM builds from a Dockerfile.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  unlistedInputs: [
    'dryRun',
    'jobConfig',
    'useImage',
    'isCliDeployment',
    'healthCheck',
    'contextDir',
    'dockerfilePath',
  ],
  point: ({ appId }) => `App ${appId} is created. It has no environment yet; create one with create-app-env.`,
})
