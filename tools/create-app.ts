import { createApp } from '../src/contract/apps.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: createApp,
  group: 'apps',
  title: 'Create app',
  description:
    'Creates an app, the frame of its environments; next is create-app-env. dockerPreset FUNCTION makes a function (scales to zero), JOB a job, CUSTOM an app built from its Dockerfile.',
  hints: { readOnly: false, destructive: false, idempotent: false },
  point: ({ appId }, { name }) =>
    `App ${name} is created as ${appId}. It has no environment yet: create-app-env makes one.`,
})
