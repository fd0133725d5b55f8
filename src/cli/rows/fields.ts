import { readFileSync } from 'node:fs'
import { Option } from 'commander'
import { z } from 'zod'
import type { Operation } from '../../contract/operation.ts'
import { UsageError } from '../command-io.ts'
import { fieldHelp } from './field-help.ts'
import { inShellWords } from './words.ts'

/** The parts of JSON Schema that inputs of operations use. */
interface Schema {
  type?: string
  enum?: readonly (string | number)[]
  anyOf?: readonly Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  description?: string
  default?: unknown
}

/** Positionals and options for the fields of an operation's input. */
export interface RowFields {
  /** Fields given by position: `environment` is `appEnvId` or `envName`, the others are ids. */
  positionals: readonly string[]
  /** For lists, which are of everything without an environment. */
  isEnvironmentOptional: boolean
  /** Whether the account can be named; otherwise the only account is used. */
  account: 'needed' | 'optional' | null
  options: readonly RowOption[]
}

interface RowOption {
  field: string
  required: boolean
  /** A boolean field has two: `--admin` and `--no-admin`. */
  flags: readonly Option[]
}

/** The default of `isSecret`. */
const secretHint =
  'a new variable is a secret: masked, shown only to admins; for a readable one give JSON with "isSecret": false, for a value of another environment [{"name": "URL", "from": {"envName": "db-prod", "field": "url"}}]'
const fileHint = '@FILE or - reads it from a file or standard input'

/** Derives positionals and options from the input schema of an operation. `left` are fields that the caller sets. */
export function fieldsOf(row: Operation, left: readonly string[] = []): RowFields {
  const { properties = {}, required = [] } = z.toJSONSchema(row.input, {
    io: 'input',
    unrepresentable: 'any',
  }) as { properties?: Record<string, Schema>; required?: string[] }
  const fields = Object.entries(properties).filter(([field]) => !left.includes(field))
  const onEnvironment = 'appEnvId' in properties && 'envName' in properties && !left.includes('appEnvId')
  const ids = required.filter((field) => /Id$/.test(field) && field !== 'accountId' && !left.includes(field))
  const positionals = onEnvironment ? ['environment', ...ids] : ids
  const taken = new Set([...ids, 'accountId', ...(onEnvironment ? ['appEnvId', 'envName'] : [])])
  return {
    positionals,
    isEnvironmentOptional: row.policy.on === 'environments',
    account: !fields.some(([field]) => field === 'accountId')
      ? null
      : required.includes('accountId')
        ? 'needed'
        : 'optional',
    options: fields
      .filter(([field]) => !taken.has(field))
      .map(([field, schema]) => ({
        field,
        required: required.includes(field),
        flags: flagsOf(row.id, field, schema),
      })),
  }
}

/** `containerConcurrency` → `container-concurrency`. */
export function kebab(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

function flagsOf(operationId: string, field: string, schema: Schema): Option[] {
  const flag = `--${kebab(field)}`
  const text = describe(schema, fieldHelp(operationId, field, schema.description))
  if (schema.type === 'boolean') {
    return [
      new Option(flag, `${text} (or --no-${kebab(field)})`),
      new Option(`--no-${kebab(field)}`).hideHelp(),
    ]
  }
  if (schema.type === 'array' && schema.items) {
    const item = schema.items
    const add = (word: string, before: unknown[] | undefined) => [
      ...(before ?? []),
      ...itemsOf(flag, word, item),
    ]
    const name = isNamedValue(item) ? 'NAME=value' : 'value'
    const about = isNamedValue(item) ? `${text}${text && '; '}${secretHint}` : text
    return [new Option(`${flag} <${name}>`, [about, 'repeatable'].filter(Boolean).join('; ')).argParser(add)]
  }
  if (schema.type === 'object') {
    const merge = (word: string, before: Record<string, unknown> | undefined) =>
      merged(before ?? {}, objectOf(flag, word, schema))
    const keys = Object.keys(schema.properties ?? {}).join(', ')
    return [
      new Option(
        `${flag} <key=value>`,
        [text, `repeatable, keys ${keys}; or JSON`].filter(Boolean).join('; '),
      ).argParser(merge),
    ]
  }
  return [new Option(`${flag} <${nameOf(schema)}>`, text).argParser((word) => scalarOf(flag, word, schema))]
}

/** The help, the allowed values and the default. */
function describe(schema: Schema, help: string): string {
  const inner = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema
  const values = inner.enum ? `one of ${inner.enum.join(', ')}` : ''
  const usual = schema.default === undefined || schema.type === 'boolean' ? '' : `default ${schema.default}`
  return [inShellWords(help), values, usual].filter((part) => part !== '').join('; ')
}

function nameOf(schema: Schema): string {
  const inner = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema
  return inner.type === 'integer' || inner.type === 'number' ? 'n' : 'text'
}

function scalarOf(flag: string, word: string, schema: Schema): unknown {
  if (schema.anyOf) {
    if (word === 'none' && schema.anyOf.some(({ type }) => type === 'null')) return null
    return scalarOf(flag, word, schema.anyOf.find(({ type }) => type !== 'null') ?? {})
  }
  const value = schema.type === 'integer' || schema.type === 'number' ? numberOf(flag, word) : word
  if (schema.enum && !schema.enum.includes(value as string)) {
    throw new UsageError(`${flag} must be one of ${schema.enum.join(', ')}`)
  }
  return value
}

function numberOf(flag: string, word: string): number {
  const value = Number(word)
  if (word.trim() !== '' && Number.isFinite(value)) return value
  const unit = flag.endsWith('-seconds') ? ' of seconds' : ''
  throw new UsageError(`${flag} must be a number${unit}, not ${JSON.stringify(word)}`)
}

/** One or several items: ids separated by commas, `NAME=value`, JSON. */
function itemsOf(flag: string, word: string, item: Schema): unknown[] {
  if (item.type === 'object') {
    // Anything but JSON or a file is a variable, or one without its value such as `--set COLOR`.
    if (isNamedValue(item) && !/^\s*[[{@]|^-$/.test(word)) return [plainValue(flag, word)]
    const value = jsonOf(flag, word, isNamedValue(item) ? 'NAME=value or JSON' : 'JSON')
    return Array.isArray(value) ? value : [value]
  }
  if (/-ids$/.test(flag)) return word.split(',').filter((id) => id !== '')
  return [scalarOf(flag, word, item)]
}

/** A value that looks like a reference would be stored as this JSON. */
function plainValue(flag: string, word: string): { name: string; value: string } {
  const named = namedValue(flag, word)
  const way = /^\s*\{\s*"(from|generate)"\s*:\s*\{/.exec(named.value)?.[1]
  if (way === undefined) return named
  const instead =
    way === 'from'
      ? `--set-from ${named.name}=shopdb-prod.url of longshore envs variables`
      : `${flag} '{"name":"${named.name}","generate":{}}'`
  throw new UsageError(`${flag} ${named.name}={"${way}":…} would store this JSON as text; use ${instead}`)
}

/** `NAME=value`. */
export function namedValue(flag: string, word: string): { name: string; value: string } {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word) ?? []
  if (name === undefined || value === undefined) {
    const sample = /^[A-Za-z_]\w*$/.test(word) ? word : 'COLOR'
    throw new UsageError(`${flag} takes NAME=value, such as ${flag} ${sample}=green`)
  }
  return { name, value }
}

function isNamedValue(item: Schema): boolean {
  return item.properties !== undefined && 'name' in item.properties && 'value' in item.properties
}

/** `key=value`, with dots for nested objects, or a whole object as JSON. */
function objectOf(flag: string, word: string, schema: Schema): Record<string, unknown> {
  const pair = /^([A-Za-z_][\w.]*)=(.*)$/s.exec(word)
  if (!pair) {
    const value = jsonOf(flag, word, 'key=value or JSON')
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
    throw new UsageError(`${flag} must be an object`)
  }
  const keys = pair[1]!.split('.')
  let inner: Schema | undefined = schema
  for (const key of keys) {
    const known: readonly string[] = Object.keys(inner?.properties ?? {})
    inner = inner?.properties?.[key]
    if (!inner)
      throw new UsageError(`${flag} has no key ${JSON.stringify(key)}; known keys: ${known.join(', ')}`)
  }
  const value = valueIn(`${flag} ${pair[1]}`, pair[2]!, inner ?? {})
  return keys.reduceRight<unknown>((below, key) => ({ [key]: below }), value) as Record<string, unknown>
}

function valueIn(what: string, word: string, schema: Schema): unknown {
  if (schema.type === 'boolean') {
    if (word === 'true' || word === 'false') return word === 'true'
    throw new UsageError(`${what} must be true or false`)
  }
  if (schema.type === 'array') {
    return word.startsWith('[') ? jsonOf(what, word, 'JSON') : word.split(',')
  }
  if (schema.type === 'object') return jsonOf(what, word, 'JSON')
  return scalarOf(what, word, schema)
}

function merged(one: Record<string, unknown>, other: Record<string, unknown>): Record<string, unknown> {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const result = { ...one }
  for (const [key, value] of Object.entries(other)) {
    const before = result[key]
    result[key] = isObject(before) && isObject(value) ? merged(before, value) : value
  }
  return result
}

/** Files keep secrets out of process lists and shell histories. */
function jsonOf(flag: string, word: string, wanted: string): unknown {
  const text = word === '-' || word.startsWith('@') ? textOf(flag, word) : word
  try {
    return JSON.parse(text)
  } catch {
    // The text may be a secret, so the parser's message is not repeated.
    throw new UsageError(`${flag} is not valid JSON; it takes ${wanted}, and ${fileHint}`)
  }
}

function textOf(flag: string, word: string): string {
  try {
    return readFileSync(word === '-' ? 0 : word.slice(1), 'utf8')
  } catch (error) {
    throw new UsageError(
      `${flag}: ${word.slice(1)} cannot be read (${(error as NodeJS.ErrnoException).code})`,
    )
  }
}
