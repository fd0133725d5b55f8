import { deleteApp } from '../src/contract/apps.ts'
import { appEffects } from '../src/mcp/tools/access-checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: deleteApp,
  group: 'apps',
  title: 'Delete app',
  description:
    'Deletes (gets rid of) an app, a project, that has no environments left. confirm: its exact name.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  destroys: appEffects,
})
