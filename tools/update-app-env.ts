import { z } from 'zod'
import { updateAppEnv } from '../src/contract/app-envs.ts'
import { environmentAccessible, functionLimits } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { omittedVariableEffects, warnRemovedVariables } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: updateAppEnv,
  group: 'apps',
  title: 'Update environment',
  description:
    'Changes size (zClouds: more memory, CPU), disk, branch, labels, protection, health check, renames, or moves to another region; mostly pending until apply-app-env-changes. envVars REPLACES all.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  task: 'move',
  referredInputs: {
    zClouds: '',
    disk: '',
    envVars: 'As set of update-app-env-variables',
    functionConfig: '',
    jobConfig: '',
    healthCheck: 'As create-app-env',
    databaseSettings: 'As create-app-env',
  },
  checks: [environmentAccessible, functionLimits, warnRemovedVariables],
  noteFields: { removedVariables: z.array(z.string()).optional() },
  destroys: omittedVariableEffects,
  namesEnvironment: true,
  point: (_answer, { region }, envName) =>
    region === undefined
      ? `${envName} is updated. Changes that need a deployment are pending until apply-app-env-changes.`
      : `${envName} is updated. If this changes its region, it moves: get-app-env-status shows how far it is. With a volume it serves nothing while that is copied.`,
})
