import { listAudit } from '../src/contract/audit.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: listAudit,
  group: 'access',
  title: 'List audit',
  description: 'Who changed what, when, from where; newest first. Needs admin.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  point: ({ entries, cursor }) =>
    `${entries.length} entr${entries.length === 1 ? 'y' : 'ies'}${cursor === null ? '' : '; more with cursor'}.`,
})
