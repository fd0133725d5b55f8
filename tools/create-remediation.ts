import { createRemediation } from '../src/contract/remediations.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: createRemediation,
  group: 'remediation',
  title: 'Create remediation',
  description:
    'Sets up a remediation, an automatic repair (self-healing), of an environment (admin): steps, such as restart or rollback, taken by itself when an alert fires or diagnosis finds a cause. A dry run says what it would do. mode observe changes nothing.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  referredInputs: {
    trigger: 'alertId or cause',
    steps: 'Each action with its own fields only',
    verify: 'One of the two',
  },
  point: ({ message }) => message,
})
