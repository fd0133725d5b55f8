import { undoChange } from '../src/contract/audit.ts'
import { defineTool } from '../src/mcp/define-tool.ts'
import { lossOfChange } from '../src/mcp/losses.ts'

export default defineTool({
  operation: undoChange,
  group: 'access',
  title: 'Undo a change',
  description:
    'Puts back what one entry of list-audit changed. Not for deploys, deletes and fields changed since.',
  hints: { readOnly: false, destructive: true, idempotent: false },
  unlistedInputs: ['idempotencyKey'],
  destroys: lossOfChange,
})
