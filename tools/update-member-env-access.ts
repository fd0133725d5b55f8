import { z } from 'zod'
import { updateMemberEnvAccess } from '../src/contract/members.ts'
import { fullAccessMeant } from '../src/mcp/access-checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'
import { lossOfRestriction } from '../src/mcp/losses.ts'

export default defineTool({
  operation: updateMemberEnvAccess,
  group: 'access',
  title: 'Set environment access',
  description:
    'Sets which environments a member may reach; replaces the list. An empty or missing list means FULL access and needs grantFullAccess true.',
  hints: { readOnly: false, destructive: true, idempotent: true },
  ownInputs: { grantFullAccess: z.boolean().optional().describe('Full access is meant') },
  checks: [fullAccessMeant],
  destroys: lossOfRestriction,
  asksOnly: true,
})
