import { deleteAlert } from '../src/contract/alerts.ts'
import { alertEffects } from '../src/mcp/tools/alert-checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: deleteAlert,
  group: 'alerts',
  title: 'Delete alert',
  description:
    'Deletes (removes) an alert, alarm or warning with its history, when it is no longer needed (admin). confirm: its exact name.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  destroys: alertEffects,
})
