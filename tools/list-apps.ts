import { counted } from '../src/amounts.ts'
import { listApps } from '../src/contract/apps.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listApps,
  group: 'apps',
  title: 'List apps',
  description: 'Lists the apps (projects, applications) of an account that the caller can see.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  pages: 'apps',
  point: ({ apps }) => `${counted(apps.length, 'app')}.`,
})
