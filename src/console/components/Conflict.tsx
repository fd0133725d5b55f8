import { type Column, Table } from './Table.tsx'

interface Edited {
  label: string
  mine: React.ReactNode
  theirs: React.ReactNode
}

interface Props {
  fields: readonly Edited[]
  pending: boolean
  saveMine: () => void
  takeTheirs: () => void
}

const columns: Column<Edited>[] = [
  { title: 'Field', cell: ({ label }) => label },
  { title: 'Yours', cell: ({ mine }) => mine },
  { title: 'Now on the platform', cell: ({ theirs }) => theirs },
]

/** Both versions after a revision conflict, for the person to choose. Used by every form that sends a revision. */
export function Conflict({ fields, pending, saveMine, takeTheirs }: Props) {
  return (
    <div role="alert" className="note tone-warn stack">
      <span>
        <strong>Revision conflict. </strong>
        Somebody else changed this while you were editing. Your changes are not saved yet.
      </span>
      <Table columns={columns} rows={fields} keyOf={({ label }) => label} className="diff" />
      <div className="row">
        <button type="button" className="button compact" disabled={pending} onClick={saveMine}>
          Save mine
        </button>
        <button type="button" className="button compact" disabled={pending} onClick={takeTheirs}>
          Take theirs
        </button>
      </div>
    </div>
  )
}
