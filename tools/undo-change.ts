import { undoChange } from '../src/contract/audit.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { changeEffects } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: undoChange,
  group: 'access',
  title: 'Undo a change',
  description:
    "Restores the fields that one entry of list-audit changed. Not for deploys, deletes or fields changed since. confirm: its object's name.",
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
  destroys: changeEffects,
})
