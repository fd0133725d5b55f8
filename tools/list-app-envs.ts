import { counted } from '../src/amounts.ts'
import { listAppEnvs } from '../src/contract/app-envs.ts'
import { accountOrAppNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listAppEnvs,
  group: 'apps',
  title: 'List environments',
  description: 'Lists visible environments of an account or app, with status and version.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  unlistedInputs: ['status', 'limit'],
  checks: [accountOrAppNamed],
  pages: 'appEnvs',
  point: ({ appEnvs }) =>
    `${counted(appEnvs.length, 'environment')}, ${appEnvs.filter((env) => env.status === 'RUNNING').length} running.`,
})
