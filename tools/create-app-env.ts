import { createAppEnv } from '../src/contract/app-envs.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: createAppEnv,
  group: 'apps',
  title: 'Create environment',
  description: 'Creates (sets up) an environment of an app, as staging or preview, or a database, cache.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  referredInputs: {
    region: '',
    envVars: 'As set of update-app-env-variables',
    functionConfig: '',
    jobConfig: '',
  },
  namesEnvironment: true,
  point: (_answer, _input, envName) =>
    `Environment ${envName} is created. A database starts automatically: poll get-app-env-status. For other apps, deploy with request-deploy-storage-key (source) or deploy-app-env-image.`,
})
