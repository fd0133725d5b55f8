import { listAudit } from '../src/contract/audit.ts'
import type { OutputOf } from '../src/contract/operation.ts'
import { cut } from '../src/mcp/answer-size.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: listAudit,
  group: 'access',
  title: 'List audit',
  description: 'Who changed what, when, from where; newest first. Needs admin.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  defaults: { limit: 8 },
  shorten: (answer) => ({ ...answer, entries: answer.entries.map(shortEntry) }),
  point: ({ entries, cursor }) =>
    `${entries.length} entr${entries.length === 1 ? 'y' : 'ies'}${cursor === null ? '' : '; more with cursor'}.`,
})

type Entry = OutputOf<typeof listAudit>['entries'][number]

/** Whole objects, as a deletion leaves them behind, are cut. */
function shortEntry(entry: Entry): Entry {
  const short = (value: string | null) => (value === null ? null : cut(value, 160))
  const changes = entry.changes.map(({ path, before, after }) => ({
    path,
    before: short(before),
    after: short(after),
  }))
  return { ...entry, changes }
}
