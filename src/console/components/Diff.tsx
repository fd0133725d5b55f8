import { type Column, Table } from './Table.tsx'

interface Change {
  path: string
  before: unknown
  after: unknown
}

const none = <span className="muted">none</span>

const columns: Column<Change>[] = [
  { title: 'Field', cell: ({ path }) => path },
  { title: 'Before', cell: ({ before }) => (isNothing(before) ? none : <del>{shown(before)}</del>) },
  { title: 'After', cell: ({ after }) => (isNothing(after) ? none : <ins>{shown(after)}</ins>) },
]

/** Changes by path, with the words "before" and "after" for readers who cannot see color. */
export function Diff({ changes }: { changes: readonly Change[] }) {
  if (changes.length === 0) return null
  return <Table columns={columns} rows={changes} keyOf={({ path }) => path} className="diff" />
}

const isNothing = (value: unknown) => value === null || value === undefined || value === ''

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : wordsOf(value)
  return text.length > 600 ? `${text.slice(0, 600)}…` : text
}

/** An added variable is an object; its id and flags matter less than its value. */
function wordsOf(value: unknown): string {
  if (typeof value !== 'object' || value === null || !('name' in value && 'value' in value))
    return JSON.stringify(value)
  return String(value.value)
}
