import { counted } from '../src/amounts.ts'
import { listRemediationRuns } from '../src/contract/remediations.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listRemediationRuns,
  group: 'remediation',
  title: 'List remediation runs',
  description:
    'Lists the runs of a remediation, newest first: what an automatic repair (self-healing) did, and how often.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  defaults: { limit: 5 },
  point: ({ runs, pagination }) =>
    `${runs.length} of ${counted(pagination.total, 'run')}${pagination.hasMore ? `; offset ${pagination.offset + runs.length} shows more` : ''}.`,
})
