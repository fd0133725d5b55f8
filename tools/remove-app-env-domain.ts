import { removeAppEnvDomain } from '../src/contract/domains.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { domainEffects } from '../src/mcp/tools/domain-checks.ts'

export default defineTool({
  operation: removeAppEnvDomain,
  group: 'domains',
  title: 'Remove domain',
  description:
    'Removes a custom domain, takes it off: the environment no longer answers there; deletes its certificate. confirm: the domain.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  destroys: domainEffects,
})
