import { counted } from '../src/amounts.ts'
import { listAppEnvDomains } from '../src/contract/domains.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listAppEnvDomains,
  group: 'domains',
  title: 'List domains',
  description:
    'Lists the custom domains (hostnames) of an environment: where they point, DNS, whether TLS certificates are valid and when they expire, problems.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  namesEnvironment: true,
  point: ({ domains }, _input, envName) => {
    const active = domains.filter(({ status }) => status === 'active').length
    return `${envName} has ${counted(domains.length, 'domain')}, ${active} with a certificate.`
  },
})
