import { toggleRemediation } from '../src/contract/remediations.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: toggleRemediation,
  group: 'remediation',
  title: 'Turn remediation on or off',
  description:
    'Switches a remediation, an automatic repair (self-healing), off for now, back on in the mode it had, or to the given mode (admin).',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  point: ({ message }) => message,
})
