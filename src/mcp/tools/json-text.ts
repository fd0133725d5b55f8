import type { z } from 'zod'
import type { Tool, ToolInput } from './define-tool.ts'
import { inputSchemaOf } from './schema.ts'

/** Nested text takes one round for each level. */
const mostRounds = 4
const jsonText = /^\s*(?:[[{]|-?\d|true\s*$|false\s*$)/

const schemas = new WeakMap<Tool, z.ZodObject>()

/**
 * Arguments in which lists, objects, numbers and booleans that arrived as JSON text are values: some hosts send them so.
 * Only where the schema refuses the text and takes the value; a text that is meant as text stays.
 */
export function withParsedText(tool: Tool, args: ToolInput): ToolInput {
  if (!holdsJsonText(args)) return args
  const schema = schemas.get(tool) ?? inputSchemaOf(tool)
  schemas.set(tool, schema)
  let value: ToolInput = args
  for (let round = 0; round < mostRounds; round += 1) {
    const { error } = schema.safeParse(value)
    const before = value
    for (const { path, takes } of mismatchesIn(error?.issues ?? [])) {
      // Inputs that show secrets are read as they come, so that no form of them passes the check.
      if (tool.secretInputs.includes(String(path[0]))) continue
      const parsed = parsedAs(takes, at(value, path))
      if (parsed !== undefined) value = replacedAt(value, path, parsed) as ToolInput
    }
    if (value === before) break
  }
  return value
}

function holdsJsonText(value: unknown): boolean {
  if (typeof value === 'string') return jsonText.test(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsJsonText)
}

type Path = readonly PropertyKey[]

interface Mismatch {
  path: Path
  takes(value: unknown): boolean
}

function mismatchesIn(issues: readonly z.core.$ZodIssue[], prefix: Path = []): Mismatch[] {
  return issues.flatMap((issue) => {
    const path = [...prefix, ...issue.path]
    if (issue.code === 'invalid_union') return issue.errors.flatMap((one) => mismatchesIn(one, path))
    if (issue.code === 'invalid_type') return [{ path, takes: (value) => isOf(issue.expected, value) }]
    return issue.code === 'invalid_value'
      ? [{ path, takes: (value) => issue.values.includes(value as never) }]
      : []
  })
}

function isOf(expected: string, value: unknown): boolean {
  const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
  return type === ({ int: 'number', record: 'object' }[expected] ?? expected)
}

/** The value of a JSON text if the schema takes it there; else undefined. */
function parsedAs(takes: Mismatch['takes'], text: unknown): unknown {
  if (typeof text !== 'string' || !jsonText.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return takes(value) ? value : undefined
  } catch {
    return undefined
  }
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((one, key) => (Object(one) as Record<PropertyKey, unknown>)[key], value)
}

function replacedAt(value: unknown, [key, ...rest]: Path, parsed: unknown): unknown {
  if (key === undefined) return parsed
  const inner = replacedAt((value as Record<PropertyKey, unknown>)[key], rest, parsed)
  if (!Array.isArray(value)) return { ...(value as object), [key]: inner }
  return value.map((one, index) => (index === key ? inner : one))
}
