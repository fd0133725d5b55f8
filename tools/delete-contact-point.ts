import { deleteContactPoint } from '../src/contract/contact-points.ts'
import { contactPointEffects } from '../src/mcp/tools/alert-checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: deleteContactPoint,
  group: 'alerts',
  title: 'Delete contact point',
  description:
    'Deletes (removes) a contact point (admin): a receiver, channel, address or destination of alerts. Refused while alerts use it (X2). confirm: its exact name.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  destroys: contactPointEffects,
})
