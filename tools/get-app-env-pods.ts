import { getAppEnvPods } from '../src/contract/app-env-reads.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getAppEnvPods,
  group: 'logs',
  title: 'List containers',
  description: 'Lists containers with state, restarts and last exit; of functions also ended ones (F10).',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  point: ({ pods }) =>
    `${pods.filter((pod) => pod.status === 'Running').length} of ${pods.length} listed containers run.`,
})
