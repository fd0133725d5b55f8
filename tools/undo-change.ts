import { undoChange } from '../src/contract/audit.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { changeEffects } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: undoChange,
  group: 'access',
  title: 'Undo a change',
  description:
    "Undoes (reverts, takes back) a change that was a mistake: puts the fields that one entry of list-audit changed back as they were. Not for deploys, deletes or fields changed since. confirm: its object's name.",
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
  destroys: changeEffects,
})
