import type { z } from 'zod'
import type { Operation } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import { shownWord } from '../operations/core/mask-tokens.ts'

/** A parsed query string: one text per key, or several if the key was repeated. */
export type Query = Readonly<Record<string, string | string[]>>

type Reading = 'text' | 'number' | 'boolean' | { each: Reading }

/**
 * Creates the function that converts the query string of one row to its input. Texts become numbers or booleans where
 * the row needs them; lists may be repeated or comma-separated. Other text stays, so that the schema reports the
 * problem. A repeated scalar is rejected with 400.
 */
export function queryReader(row: Operation): (query: Query) => Record<string, unknown> {
  const readings = new Map(Object.entries(row.input.shape).map(([key, schema]) => [key, readingOf(schema)]))
  return (query) => {
    // No prototype, so that a key named __proto__ stays a key and is rejected as unknown.
    const input: Record<string, unknown> = Object.create(null)
    for (const key of Object.keys(query)) {
      input[key] = readValue(key, query[key]!, readings.get(key) ?? 'text')
    }
    return input
  }
}

function readValue(key: string, value: string | string[], reading: Reading): unknown {
  if (typeof reading === 'object') {
    const values = typeof value === 'string' ? [value] : value
    return values
      .flatMap((part) => (part === '' ? [] : part.split(',')))
      .map((part) => readText(part, reading.each))
  }
  if (typeof value === 'string') return readText(value, reading)
  throw new AppError('invalid', 'Invalid request', {
    details: `${shownWord(key)}: sent ${value.length} times; send it once`,
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
