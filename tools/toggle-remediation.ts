import { toggleRemediation } from '../src/contract/remediations.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: toggleRemediation,
  group: 'remediation',
  title: 'Turn remediation on or off',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  point: ({ message }) => message,
})
