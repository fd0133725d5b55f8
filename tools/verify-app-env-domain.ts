import { verifyAppEnvDomain } from '../src/contract/domains.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: verifyAppEnvDomain,
  group: 'domains',
  title: 'Verify domain',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: true },
  checks: [environmentAccessible],
  namesEnvironment: true,
  point: ({ message }) => message,
})
