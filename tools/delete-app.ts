import { deleteApp } from '../src/contract/apps.ts'
import { lossOfApp } from '../src/mcp/access-checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: deleteApp,
  group: 'apps',
  title: 'Delete app',
  description:
    'Deletes an app that has no environments left. The person is asked, or confirm must be its exact name.',
  hints: { readOnly: false, destructive: true, idempotent: true },
  unlistedInputs: ['expectedRevision'],
  destroys: lossOfApp,
})
