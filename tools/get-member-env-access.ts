import { counted } from '../src/amounts.ts'
import { getMemberEnvAccess } from '../src/contract/members.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getMemberEnvAccess,
  group: 'access',
  title: 'Read environment access',
  description:
    'Shows which environments a member may see or access: the list, if restricted. Needs Manage Members.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ access, allowedAppEnvIds, enabled }) =>
    `${access === 'full' ? 'Full access' : counted(allowedAppEnvIds.length, 'environment')}${enabled ? '' : '; not enforced: the account has per-environment access off'}.`,
})
