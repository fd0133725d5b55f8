import { getAppEnv } from '../src/contract/app-envs.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getAppEnv,
  group: 'apps',
  title: 'Read environment',
  description:
    'Shows settings (configuration) of an environment: variables (secrets masked), size, branch, pending changes.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  secretInputs: ['decrypt'],
  point: (env) =>
    `${env.cliEnvName} is ${env.status}${env.currentVersion === null ? ', never deployed' : ` at version ${env.currentVersion}`}.`,
})
