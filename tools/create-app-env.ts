import { createAppEnv } from '../src/contract/app-envs.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: createAppEnv,
  group: 'apps',
  title: 'Create environment',
  description:
    'Creates an environment of an app in a region. It runs after the first deployment (databases deploy immediately).',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  // Variables, functions and jobs have a tool of their own; update-app-env has the others, or takes them unlisted.
  unlistedInputs: [
    'envVars',
    'functionConfig',
    'jobConfig',
    'healthCheck',
    'databaseSettings',
    'disk',
    'useVolume',
    'mountPath',
    'labels',
    'protected',
  ],
  namesEnvironment: true,
  point: (_answer, _input, envName) =>
    `Environment ${envName} is created. A database starts automatically: poll get-app-env-status. For other apps, deploy with request-deploy-storage-key (source) or deploy-app-env-image.`,
})
