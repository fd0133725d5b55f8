import { getRemediationRun } from '../src/contract/remediations.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getRemediationRun,
  group: 'remediation',
  title: 'Read remediation run',
  description: 'Reads one run of a remediation: what it saw, did, and what happened after.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ runId, status }) => `${runId} is ${status}.`,
})
