import { deleteAlert } from '../src/contract/alerts.ts'
import { lossOfAlert } from '../src/mcp/alert-checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: deleteAlert,
  group: 'alerts',
  title: 'Delete alert',
  description:
    'Deletes an alert with its history (admin). The person is asked, or confirm must be its exact name.',
  hints: { readOnly: false, destructive: true, idempotent: true },
  unlistedInputs: ['expectedRevision'],
  destroys: lossOfAlert,
})
