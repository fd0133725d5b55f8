import type { z } from 'zod'
import type { Operation } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import { shownWord } from './mask-tokens.ts'

/** What a query string parser yields: a text, or several when a key was repeated. */
export type Query = Readonly<Record<string, string | string[]>>

type Reading = 'text' | 'number' | 'boolean' | { each: Reading }

/**
 * Makes the function that turns the query string of one row into its input: texts that the row wants as numbers
 * or booleans become these, lists may be repeated or comma separated. What does not fit stays text, so that the
 * schema says what is wrong with it. A repeated scalar is refused with 400.
 */
export function queryReader(row: Operation): (query: Query) => Record<string, unknown> {
  const readings = new Map(Object.entries(row.input.shape).map(([key, schema]) => [key, readingOf(schema)]))
  return (query) => {
    // No prototype: a key named __proto__ must stay a key, and then be refused as unknown.
    const input: Record<string, unknown> = Object.create(null)
    for (const key of Object.keys(query)) {
      input[key] = readValue(key, query[key]!, readings.get(key) ?? 'text')
    }
    return input
  }
}

function readValue(key: string, value: string | string[], reading: Reading): unknown {
  if (typeof reading === 'object') {
    const parts = typeof value === 'string' ? [value] : value
    return parts
      .flatMap((part) => (part === '' ? [] : part.split(',')))
      .map((part) => readText(part, reading.each))
  }
  if (typeof value === 'string') return readText(value, reading)
  throw new AppError('invalid', 'Invalid request', {
    details: `${shownWord(key)}: is given ${value.length} times; give it once`,
  })
}

function readText(text: string, reading: Reading): unknown {
  if (reading === 'number' && /^-?\d{1,20}(?:\.\d{1,20})?$/.test(text)) return Number(text)
  if (reading === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

interface SchemaDef {
  type: string
  innerType?: z.core.$ZodType
  in?: z.core.$ZodType
  element?: z.core.$ZodType
  values?: unknown[]
}

function readingOf(schema: z.core.$ZodType): Reading {
  const def = schema._zod.def as unknown as SchemaDef
  if (def.innerType !== undefined) return readingOf(def.innerType)
  if (def.type === 'pipe' && def.in !== undefined) return readingOf(def.in)
  if (def.type === 'array' && def.element !== undefined) return { each: readingOf(def.element) }
  if (def.type === 'literal' && def.values?.every((value) => typeof value === 'number')) return 'number'
  return def.type === 'number' || def.type === 'boolean' ? def.type : 'text'
}
