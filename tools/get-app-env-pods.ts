import { getAppEnvPods } from '../src/contract/app-env-reads.ts'
import { environmentNamed } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: getAppEnvPods,
  group: 'logs',
  title: 'List containers',
  description:
    'Lists containers with state, restarts and why the last one ended. Functions: the last 20 whatever their status, dead ones included (F10).',
  hints: { readOnly: true, destructive: false, idempotent: true },
  checks: [environmentNamed],
  point: ({ pods }) =>
    `${pods.filter((pod) => pod.status === 'Running').length} of ${pods.length} listed containers run.`,
})
