interface Props {
  fields: readonly { label: string; mine: React.ReactNode; theirs: React.ReactNode }[]
  pending: boolean
  saveMine: () => void
  takeTheirs: () => void
}

/** Both versions after a revision conflict, for the person to choose. Used by every form that sends a revision. */
export function Conflict({ fields, pending, saveMine, takeTheirs }: Props) {
  return (
    <div role="alert" className="note tone-warn stack">
      <span>
        <strong>Revision conflict. </strong>
        Somebody else changed this while you were editing. Your changes are not saved yet.
      </span>
      <div className="scroller">
        <table className="diff">
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Yours</th>
              <th scope="col">Now on the platform</th>
            </tr>
          </thead>
          <tbody>
            {fields.map(({ label, mine, theirs }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td>{mine}</td>
                <td>{theirs}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
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
