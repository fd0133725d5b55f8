import { printable } from './progress.ts'
import { inShellWords } from './rows/words.ts'

type Fields = Readonly<Record<string, unknown>>

const widestCell = 60
/** Columns of lists that are of no use to people. */
const leftOut = new Set(['slug', 'revision', 'accountId', 'updatedAt'])
/** Columns that distinguish rows, and that calls take, come first. */
const leading = new Set(['cliEnvName'])

/**
 * A response of the platform for people: its message first, a list as a table, an object as one field per line. Others'
 * text is made safe for a terminal. `hint` says what to do when the list is empty.
 */
export function renderResult(answer: unknown, hint = ''): string[] {
  if (!isFields(answer)) return [cell(answer)]
  const { message, success: _success, pagination, cursor, ...fields } = answer
  const lists = Object.entries(fields).filter(([, value]) => isList(value))
  const lines = typeof message === 'string' ? [inShellWords(printable(message))] : []
  const only = lists[0]
  const isEmpty = only !== undefined && (only[1] as unknown[]).length === 0
  if (only && Object.keys(fields).length === 1) {
    const table = renderTable(only[1] as Fields[], only[0])
    if (isEmpty) return [...lines, `${table[0]} ${hint}`.trim()]
    return [...lines, ...table, ...moreLine(only[1], pagination, cursor)]
  }
  if (isEmpty && hint !== '') return [...lines, ...renderFields(fields, ''), hint]
  return [...lines, ...renderFields(fields, ''), ...moreLine(only?.[1], pagination, cursor)]
}

/** Rows with aligned columns; omits empty columns. */
export function renderTable(rows: readonly Fields[], name: string): string[] {
  if (rows.length === 0) return [`There are no ${wordsOf(name)}.`]
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
    .filter((column) => !leftOut.has(column) && rows.some((row) => hasContent(row[column])))
    .sort((one, other) => Number(leading.has(other)) - Number(leading.has(one)))
  return aligned([columns, ...rows.map((row) => columns.map((column) => shortened(cell(row[column]))))])
}

/** Cells padded to the width of their column. */
export function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_cell, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  return rows.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** Rows whose texts are sentences: a heading from the first column, then one field per line, uncut. */
export function renderBlocks(rows: readonly Fields[]): string[] {
  return rows.flatMap((row) => {
    const [head, ...fields] = Object.entries(row).filter(([column]) => !leftOut.has(column))
    const lines = aligned(fields.map(([name, value]) => [name, cell(value)]))
    return [cell(head?.[1]), ...lines.map((line) => `  ${line}`)]
  })
}

function renderFields(fields: Fields, indent: string): string[] {
  const isNested = (value: unknown) =>
    (isFields(value) || isList(value)) && Object.keys(value as object).length > 0
  const plain = Object.entries(fields).filter(([, value]) => !isNested(value))
  const nested = Object.entries(fields).filter(([, value]) => isNested(value))
  return [
    ...aligned(plain.map(([name, value]) => [name, cell(value)])).map((line) => indent + line),
    ...nested.flatMap(([name, value]) => [
      `${indent}${name}`,
      ...(isFields(value)
        ? renderFields(value, `${indent}  `)
        : renderTable(value as Fields[], name).map((line) => `${indent}  ${line}`)),
    ]),
  ]
}

/** Shows booleans as yes and no, an object as its e-mail address, its name or its fields, a list as its items. */
export function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(cell).join(', ')
  if (isFields(value)) {
    const named = ['email', 'cliEnvName', 'name', 'url', 'path', 'id'].find(
      (field) => typeof value[field] === 'string',
    )
    return named === undefined ? fieldWords(value) : printable(String(value[named]))
  }
  const text = printable(String(value))
  // Only sentences name operations: a name or an id stays as it is.
  return text.includes(' ') ? inShellWords(text) : text
}

/** `{admin: true, cpu: 0.5}` as `admin, cpu=0.5`. */
function fieldWords(fields: Fields): string {
  const words = Object.entries(fields)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => {
      if (typeof value === 'boolean') return printable(value ? name : `no ${name}`)
      return `${printable(name)}=${isFields(value) ? `(${cell(value)})` : cell(value)}`
    })
  return words.join(', ') || '-'
}

function hasContent(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return value !== null && value !== undefined && value !== '' && value !== false
}

function shortened(text: string): string {
  return text.length <= widestCell ? text : `${text.slice(0, widestCell - 1)}…`
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isFields)
}

/** `contactPoints` → `contact points`. */
function wordsOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

/** How to read on, for a list that is not complete. */
export function moreLine(list: unknown, pagination: unknown, cursor: unknown): string[] {
  if (typeof cursor === 'string') return [`… more: --cursor ${printable(cursor)}`]
  if (!isFields(pagination) || !Array.isArray(list)) return []
  const left = Number(pagination.total) - Number(pagination.offset ?? 0) - list.length
  return left > 0 ? [`… ${left} more: --limit, --offset`] : []
}
