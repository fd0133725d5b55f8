import type { z } from 'zod'
import { AppError } from '../../errors.ts'
import { nearestName } from '../../nearest.ts'
import type { ServerScope } from '../policy/tool-policy.ts'
import { absentFeature } from './absent-features.ts'
import type { Tool, ToolContext, ToolInput } from './define-tool.ts'
import { environmentCorrections, idCorrections } from './id-corrections.ts'
import { nearestNames } from './nearest-names.ts'
import { portableInput, type SchemaNode } from './portable-schema.ts'
import { inputSchemaOf } from './schema.ts'
import { numberOf } from './units.ts'

/** A call has few mistakes, and each is one sentence. */
const mostCorrections = 5
/** The part of an unknown name that is shown and compared. */
const longestKey = 64

/**
 * The error of a call, with a correction for each mistaken input: another name, a number in the right unit, one of the
 * allowed values, or the id of a name. For an unknown input that resembles no other, it lists all inputs of the tool.
 */
export async function corrected(
  error: AppError,
  tool: Tool | undefined,
  ctx: ToolContext | undefined,
  args: ToolInput,
  scope: ServerScope,
): Promise<AppError> {
  const isAboutInput = error.kind === 'invalid' || error.kind === 'not-found'
  if (tool === undefined || ctx === undefined || !isAboutInput) return error
  const sentences = [
    ...inputCorrections(tool, args),
    ...(await idCorrections(tool, ctx, scope, args)),
    ...(await environmentCorrections(error, ctx, scope, args)),
  ]
  if (sentences.length === 0) return error
  const { kind, message, details = '', rule, cause } = error
  const shown = sentences.slice(0, mostCorrections).join(' ')
  return new AppError(kind, message, {
    details: details === '' ? shown : `${details.replace(/[.]?$/, '.')} ${shown}`,
    ...(rule === undefined ? {} : { rule }),
    cause,
  })
}

function inputCorrections(tool: Tool, args: ToolInput): string[] {
  const schema = inputSchemaOf(tool)
  const { issues = [] } = schema.safeParse(args, { reportInput: true }).error ?? {}
  const root = portableInput(schema)
  return issues.flatMap((issue) => {
    const path = issue.path.map(String)
    if (issue.code === 'unrecognized_keys') {
      const node = nodeAt(root, path)
      const keys = issue.keys.slice(0, mostCorrections).map((key) => key.slice(0, longestKey))
      return keys.flatMap((key) => nameCorrection(tool, { node, path, key, args }))
    }
    const value = valueCorrection(issue, path)
    if (value === undefined) return []
    const fixed = JSON.stringify(value)
    return fixed.length > 60 ? [] : [`Send ${path.join('.')} as ${fixed}.`]
  })
}

function nodeAt(root: SchemaNode, path: readonly string[]): SchemaNode {
  return path.reduce<SchemaNode>((node, key) => node.properties?.[key] ?? node.items ?? {}, root)
}

interface UnknownKey {
  node: SchemaNode
  path: readonly string[]
  key: string
  args: ToolInput
}

function nameCorrection(tool: Tool, { node, path, key, args }: UnknownKey): string[] {
  if (path.length === 0 && tool.operation.ignored?.includes(key)) return []
  const hidden = [...tool.secretInputs, ...tool.peopleInputs]
  const known = Object.keys(node.properties ?? {}).filter((name) => !hidden.includes(name))
  const camel = key.replace(/[^A-Za-z0-9]+(.)/g, (_, letter: string) => letter.toUpperCase())
  const near = nearestName(camel, known) ?? nearestNames(key, known)[0]
  const at = (name: string) => [...path, name].join('.')
  if (near === undefined) {
    const absence = absentFeature(key)
    if (absence !== null) return [absence]
    return path.length > 0 || known.length === 0 ? [] : [`${tool.name} takes ${known.join(', ')}.`]
  }
  const isGiven = path.length === 0 && args[near] !== undefined
  return [isGiven ? `Omit ${at(key)}: ${at(near)} is given.` : `Send ${at(near)} instead of ${at(key)}.`]
}

/** The value that was probably meant; undefined if that is unclear. Texts are not repeated: they may be secret. */
function valueCorrection(issue: z.core.$ZodIssue, path: readonly string[]): unknown {
  const given = issue.input
  if (issue.code === 'invalid_value') return allowedValue(given, issue.values)
  if (issue.code !== 'invalid_type') return undefined
  const { expected } = issue as { expected: string }
  if (expected === 'number' || expected === 'int') return numberOf(given, path.at(-1) ?? '')
  // Not every object has a text: one may have a field toString.
  const isPlain = typeof given === 'string' || typeof given === 'number'
  if (expected === 'boolean' && isPlain) return truths.get(String(given).toLowerCase())
  return undefined
}

const truths = new Map([
  ...['true', 'yes', 'on', '1'].map((word) => [word, true] as const),
  ...['false', 'no', 'off', '0'].map((word) => [word, false] as const),
])

function allowedValue(given: unknown, values: readonly unknown[]): unknown {
  if (typeof given !== 'string') return undefined
  const plain = (text: unknown) =>
    String(text)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '_')
  const named = new Map(values.map((value) => [plain(value), value]))
  const near = nearestName(plain(given.slice(0, 64)), [...named.keys()])
  return near === null ? undefined : named.get(near)
}
