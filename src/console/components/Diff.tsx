interface Change {
  path: string
  before: unknown
  after: unknown
}

/** Changes by path, with the words "before" and "after" for readers who cannot see color. */
export function Diff({ changes }: { changes: readonly Change[] }) {
  if (changes.length === 0) return null
  return (
    <div className="scroller">
      <table className="diff">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ path, before, after }) => (
            <tr key={path}>
              <th scope="row">{path}</th>
              <td>{isNothing(before) ? <span className="muted">none</span> : <del>{shown(before)}</del>}</td>
              <td>{isNothing(after) ? <span className="muted">none</span> : <ins>{shown(after)}</ins>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
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
