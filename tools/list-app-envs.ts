import { listAppEnvs } from '../src/contract/app-envs.ts'
import { accountOrAppNamed } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: listAppEnvs,
  group: 'apps',
  title: 'List environments',
  description:
    'Lists the environments of an account or an app that the caller can see, with status and version.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  checks: [accountOrAppNamed],
  pages: 'appEnvs',
  point: ({ appEnvs }) =>
    `${appEnvs.length} environment(s), ${appEnvs.filter((env) => env.status === 'RUNNING').length} running.`,
})
