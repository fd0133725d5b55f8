import { deleteRemediation } from '../src/contract/remediations.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { remediationEffects } from '../src/mcp/tools/remediation-checks.ts'

export default defineTool({
  operation: deleteRemediation,
  group: 'remediation',
  title: 'Delete remediation',
  description:
    'Deletes (removes) a remediation, an automatic repair or self-healing rule, with its runs (admin). confirm: its exact name.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  destroys: remediationEffects,
})
