import { listAudit } from '../src/contract/audit.ts'
import type { OutputOf } from '../src/contract/operation.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { cut } from '../src/mcp/tools/result-size.ts'

export default defineTool({
  operation: listAudit,
  group: 'access',
  title: 'List audit',
  description:
    'Lists the audit trail (history) of actions, newest first: who changed, deleted or did what, also agents; origin and changed paths (secrets masked). Admin.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  defaults: { limit: 8 },
  shorten: (answer) => ({ ...answer, entries: answer.entries.map(shortEntry) }),
  point: ({ entries, cursor }) =>
    `${entries.length} entr${entries.length === 1 ? 'y' : 'ies'}${cursor === null ? '' : '; more with cursor'}.`,
})

type Entry = OutputOf<typeof listAudit>['entries'][number]

/** Cuts long values, such as whole deleted objects. */
function shortEntry(entry: Entry): Entry {
  const short = (value: string | null) => (value === null ? null : cut(value, 160))
  const changes = entry.changes.map(({ path, before, after }) => ({
    path,
    before: short(before),
    after: short(after),
  }))
  return { ...entry, changes }
}
