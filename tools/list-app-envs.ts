import { counted } from '../src/amounts.ts'
import { listAppEnvs } from '../src/contract/app-envs.ts'
import { accountOrAppNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listAppEnvs,
  group: 'apps',
  title: 'List environments',
  description: 'Lists environments and databases: what is deployed or running, with id, status, version.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  referredInputs: { status: '' },
  checks: [accountOrAppNamed],
  pages: 'appEnvs',
  point: ({ appEnvs, pagination }) => {
    const running = appEnvs.filter((env) => env.status === 'RUNNING').length
    if (!pagination?.hasMore) return `${counted(appEnvs.length, 'environment')}, ${running} running.`
    return `The first ${appEnvs.length} of ${counted(pagination.total, 'environment')}; ${running} of these running.`
  },
})
