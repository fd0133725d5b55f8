import { createAppEnv } from '../src/contract/app-envs.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: createAppEnv,
  group: 'apps',
  title: 'Create environment',
  description:
    'Creates an environment of an app; a wrong region is answered with all. It runs after the first deployment.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  referredInputs: {
    region: '',
    envVars: 'As set of update-app-env-variables',
    functionConfig: 'As update-function-config',
    jobConfig: 'As update-job-config',
  },
  namesEnvironment: true,
  point: (_answer, _input, envName) =>
    `Environment ${envName} is created. A database starts automatically: poll get-app-env-status. For other apps, deploy with request-deploy-storage-key (source) or deploy-app-env-image.`,
})
