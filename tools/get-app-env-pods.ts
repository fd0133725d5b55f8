import { getAppEnvPods } from '../src/contract/app-env-reads.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getAppEnvPods,
  group: 'logs',
  title: 'List containers',
  description: 'Lists which containers (pods, instances, replicas) are running: restarts, last exit.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  point: ({ pods }) =>
    `${pods.filter((pod) => pod.status === 'Running').length} of ${pods.length} listed containers run.`,
})
