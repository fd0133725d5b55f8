import { counted } from '../src/amounts.ts'
import { listRemediations } from '../src/contract/remediations.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listRemediations,
  group: 'remediation',
  title: 'List remediations',
  description:
    'Lists the remediations, the automatic repairs (self-healing rules) that are set up, with their last runs: of an environment or account.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  defaults: { limit: 20 },
  point: ({ remediations, pagination }) =>
    pagination.hasMore
      ? `${remediations.length} of ${counted(pagination.total, 'remediation')}; offset ${pagination.offset + remediations.length} shows more.`
      : `${counted(remediations.length, 'remediation')}.`,
})
