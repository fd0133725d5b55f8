import { verifyAppEnvDomain } from '../src/contract/domains.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: verifyAppEnvDomain,
  group: 'domains',
  title: 'Verify domain',
  description:
    'Checks (confirms) the DNS record of a domain now instead of later, whether it is set up correctly, and orders its certificate if none is there.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: true },
  checks: [environmentAccessible],
  namesEnvironment: true,
  point: ({ message }) => message,
})
