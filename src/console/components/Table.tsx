import { memo } from 'react'
import { ScrollArea } from './ScrollArea.tsx'
import { useWindow } from './use-window.ts'

export interface Column<Row> {
  /** Unique in the table. */
  title: string
  /** Shown instead of the title. */
  head?: React.ReactNode
  cell: (row: Row) => React.ReactNode
  /** Class of the cells, such as `number`, `mono` or `muted`; `wide` is left out in narrow windows. */
  kind?: string | ((row: Row) => string)
}

interface Shape<Row> {
  /** The first one names the row. */
  columns: readonly Column<Row>[]
  /** Buttons at the end of a row. */
  actions?: ((row: Row) => React.ReactNode) | undefined
}

interface Props<Row> extends Shape<Row> {
  /** Names the region that scrolls. A table without a label belongs to the content around it. */
  label?: string
  rows: readonly Row[]
  keyOf: (row: Row, index: number) => string
  className?: string
  maxHeight?: number | string
  /** Renders only visible rows, so that 5,000 scroll smoothly and only visible ones are polled. */
  rowHeight?: number
}

export function Table<Row>(props: Props<Row>) {
  const { label, columns, rows, keyOf, actions, className, maxHeight, rowHeight } = props
  const { place, first, last } = useWindow(rows.length, rowHeight)
  const isWindow = rowHeight !== undefined
  const spacer = (count: number) => (
    <Spacer height={count * (rowHeight ?? 0)} columns={columns.length + (actions ? 1 : 0)} />
  )
  const table = (
    <table
      className={isWindow || className ? className : 'folds'}
      aria-rowcount={isWindow ? rows.length + 1 : undefined}
    >
      <thead>
        <Head columns={columns} actions={actions} rowIndex={isWindow ? 1 : undefined} />
      </thead>
      <tbody>
        {spacer(first)}
        {rows.slice(first, last).map((row, index) => (
          <TableRow
            key={keyOf(row, first + index)}
            row={row}
            columns={columns}
            actions={actions}
            rowIndex={isWindow ? first + index + 2 : undefined}
            rowHeight={rowHeight}
          />
        ))}
        {spacer(rows.length - last)}
      </tbody>
    </table>
  )
  if (label === undefined) return <div className="scroller">{table}</div>
  return (
    <ScrollArea label={label} place={place} style={{ maxHeight }}>
      {table}
    </ScrollArea>
  )
}

function Head<Row>({ columns, actions, rowIndex }: Shape<Row> & { rowIndex: number | undefined }) {
  return (
    <tr aria-rowindex={rowIndex}>
      {columns.map(({ title, head, kind }) => (
        <th key={title} scope="col" className={headClass(kind)}>
          {head ?? title}
        </th>
      ))}
      {actions && (
        <th scope="col">
          <span className="hidden-text">Actions</span>
        </th>
      )}
    </tr>
  )
}

/** A head shares only these classes with the cells below it. */
function headClass(kind: unknown): string | undefined {
  const shared = typeof kind === 'string' ? kind.match(/\b(?:number|wide)\b/g) : null
  return shared?.join(' ')
}

/** Memoized: scrolling renders new rows only. */
const TableRow = memo(RowOf) as typeof RowOf

interface RowProps<Row> extends Shape<Row> {
  row: Row
  rowIndex: number | undefined
  rowHeight: number | undefined
}

function RowOf<Row>({ row, columns, actions, rowIndex, rowHeight }: RowProps<Row>) {
  return (
    <tr aria-rowindex={rowIndex} style={{ height: rowHeight }}>
      {columns.map(({ title, kind, cell }, column) => {
        const className = typeof kind === 'function' ? kind(row) : kind
        if (column > 0)
          return (
            <td key={title} className={className} data-title={title}>
              {cell(row)}
            </td>
          )
        return (
          <th key={title} scope="row" className={className}>
            {cell(row)}
          </th>
        )
      })}
      {actions && (
        <td>
          <div className="row row-actions">{actions(row)}</div>
        </td>
      )}
    </tr>
  )
}

/** Stands for rows outside the window. */
function Spacer({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) return null
  return (
    <tr>
      <td colSpan={columns} style={{ height, padding: 0, border: 0 }} />
    </tr>
  )
}
