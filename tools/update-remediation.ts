import { updateRemediation } from '../src/contract/remediations.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: updateRemediation,
  group: 'remediation',
  title: 'Update remediation',
  description:
    'Changes a remediation, an automatic repair or self-healing rule (admin): its steps, mode, limits. Fields as in create-remediation; omitted ones stay.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  referredInputs: { trigger: '', steps: '', verify: '', atMost: '', onFailure: '', mode: '' },
  point: ({ message }) => message,
})
