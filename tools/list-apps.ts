import { listApps } from '../src/contract/apps.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: listApps,
  group: 'apps',
  title: 'List apps',
  description: 'Lists the apps of an account that the caller can see.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  pages: 'apps',
  point: ({ apps }) => `${apps.length} app(s).`,
})
