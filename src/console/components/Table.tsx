import { ScrollArea } from './ScrollArea.tsx'

export interface Column<Row> {
  title: string
  cell: (row: Row) => React.ReactNode
  /** Class of the cells, such as `number`, `mono` or `muted`. */
  kind?: string
}

interface Props<Row> {
  label: string
  /** The first one names the row. */
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row, index: number) => string
  /** Buttons at the end of a row. */
  actions?: ((row: Row) => React.ReactNode) | undefined
}

/** A list that scrolls sideways if it does not fit. */
export function Table<Row>({ label, columns, rows, keyOf, actions }: Props<Row>) {
  return (
    <ScrollArea label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, kind }) => (
              <th key={title} scope="col" className={kind === 'number' ? kind : undefined}>
                {title}
              </th>
            ))}
            {actions && (
              <th scope="col">
                <span className="hidden-text">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)}>
              {columns.map(({ title, kind, cell }, column) =>
                column === 0 ? (
                  <th key={title} scope="row" className={kind}>
                    {cell(row)}
                  </th>
                ) : (
                  <td key={title} className={kind}>
                    {cell(row)}
                  </td>
                ),
              )}
              {actions && (
                <td>
                  <div className="row row-actions">{actions(row)}</div>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  )
}
