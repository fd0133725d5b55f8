import { z } from 'zod'
import { updateMemberEnvAccess } from '../src/contract/members.ts'
import { fullAccessMeant } from '../src/mcp/tools/access-checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { restrictionEffect } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: updateMemberEnvAccess,
  group: 'access',
  title: 'Set environment access',
  description:
    'Restricts a member to environments, or gives access to them. Empty list: FULL access; needs grantFullAccess.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  ownInputs: { grantFullAccess: z.boolean().optional().describe('Grants full access') },
  checks: [fullAccessMeant],
  destroys: restrictionEffect,
  confirmedWith: 'grantFullAccess',
})
