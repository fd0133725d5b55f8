import type { z } from 'zod'

/** A row that cannot be read. Names the table and the object, and never quotes the row. */
export class UnreadableRow extends Error {
  constructor(table: string, id: string, problem: string, options?: { cause?: unknown }) {
    super(`the row ${id} of the table ${table} cannot be read: ${problem}`, options)
    this.name = 'UnreadableRow'
  }
}

/** Reads the JSON column of one table. */
interface RecordReader<T> {
  one(row: { record: string } | undefined): T | null
  all(rows: readonly { record: string }[]): T[]
  /** Reads the text of the column. `id` names the row in an error, when the text itself does not. */
  parse(text: string, id?: string): T
}

/**
 * The one way from the JSON column `record` of a table to an object. `schema` checks what the platform cannot do
 * without; fields that it does not name stay as they are, so that rows of earlier versions can be read. `idKey` is
 * the field that names the object; `fillsIn` applies the defaults of the schema.
 */
export function recordReader<T>(
  table: string,
  idKey: string | null,
  schema: z.ZodType,
  { fillsIn = false } = {},
): RecordReader<T> {
  const idPattern = new RegExp(`"${idKey}":"([A-Za-z0-9_-]{1,100})"`)
  const idOf = (text: string) => (idKey === null ? null : idPattern.exec(text)?.[1]) ?? '(without an id)'
  const parse = (text: string, id?: string): T => {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      // The cause would quote the text.
      throw new UnreadableRow(table, id ?? idOf(text), 'its JSON is damaged')
    }
    const checked = schema.safeParse(value)
    if (checked.success) return (fillsIn ? checked.data : value) as T
    const problems = checked.error.issues.map(
      (issue) => `${issue.path.join('.') || 'all of it'} (${issue.code})`,
    )
    throw new UnreadableRow(table, id ?? idOf(text), problems.join(', '))
  }
  return {
    one: (row) => (row ? parse(row.record) : null),
    all: (rows) => rows.map((row) => parse(row.record)),
    parse,
  }
}
