import { getRemediationRun } from '../src/contract/remediations.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getRemediationRun,
  group: 'remediation',
  title: 'Read remediation run',
  description:
    'Shows one run of a remediation: what the automatic repair (self-healing) saw and did, whether it worked, and why it stopped.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ runId, status }) => `${runId} is ${status}.`,
})
