import { createAppEnv } from '../src/contract/app-envs.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: createAppEnv,
  group: 'apps',
  title: 'Create environment',
  description:
    'Creates an environment of an app in a region: where a version runs and answers. Nothing runs until a deployment (databases deploy at once).',
  hints: { readOnly: false, destructive: false, idempotent: false },
  // Each has a tool of its own.
  unlistedInputs: ['functionConfig', 'jobConfig'],
  point: ({ appEnvId }, { name }) =>
    `Environment ${name} is created as ${appEnvId}. A database starts by itself: poll get-app-env-status. Others: deploy with request-deploy-storage-key (source) or deploy-app-env-image.`,
})
