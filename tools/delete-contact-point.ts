import { deleteContactPoint } from '../src/contract/contact-points.ts'
import { lossOfContactPoint } from '../src/mcp/alert-checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: deleteContactPoint,
  group: 'alerts',
  title: 'Delete contact point',
  description:
    'Deletes a contact point (admin). Refused while alerts use it (X2). The person is asked, or confirm must be its exact name.',
  hints: { readOnly: false, destructive: true, idempotent: true },
  unlistedInputs: ['expectedRevision'],
  destroys: lossOfContactPoint,
})
