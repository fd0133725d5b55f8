import { type ChangeWords, changeWords } from '../words/changes.ts'
import type { NameOf } from '../words/values.ts'
import { type Column, Table } from './Table.tsx'

const none = <span className="muted">none</span>

const columns: Column<ChangeWords>[] = [
  { title: 'Field', cell: ({ label }) => label },
  { title: 'Before', cell: ({ before }) => (before === null ? none : <del>{short(before)}</del>) },
  { title: 'After', cell: ({ after }) => (after === null ? none : <ins>{short(after)}</ins>) },
]

interface Props {
  changes: Parameters<typeof changeWords>[0]
  /** Names of environments by id. */
  nameOf?: NameOf
}

/** Changes in words, with "before" and "after" for readers who cannot see color. */
export function Diff({ changes, nameOf }: Props) {
  const rows = changeWords(changes, nameOf)
  if (rows.length === 0) return null
  return <Table columns={columns} rows={rows} keyOf={({ key }) => key} className="diff" />
}

const short = (text: string) => (text.length > 600 ? `${text.slice(0, 600)}…` : text)
