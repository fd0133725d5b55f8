import { getAppEnv } from '../src/contract/app-envs.ts'
import { environmentNamed } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: getAppEnv,
  group: 'apps',
  title: 'Read environment',
  description:
    'Reads one environment: settings, variables (secrets masked), hosts, pending changes. For up or down, get-app-env-status is shorter.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  checks: [environmentNamed],
  secretInputs: ['decrypt'],
  point: (env) =>
    `${env.cliEnvName} is ${env.status}${env.currentVersion === null ? ', never deployed' : ` at version ${env.currentVersion}`}.`,
})
