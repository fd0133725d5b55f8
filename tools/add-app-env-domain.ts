import { addAppEnvDomain } from '../src/contract/domains.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: addAppEnvDomain,
  group: 'domains',
  title: 'Add domain',
  description:
    'Points a custom domain (your own hostname) at an environment, to make it reachable there; its certificate is ordered once the DNS leads here.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  // A private key does not belong in a conversation.
  peopleInputs: ['certificate'],
  checks: [environmentAccessible],
  namesEnvironment: true,
  point: ({ message }) => message,
})
