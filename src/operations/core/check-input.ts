import type { z } from 'zod'
import type { Operation } from '../../contract/operation.ts'
import { AppError } from '../../errors.ts'
import { maskTokens, shownWord } from './mask-tokens.ts'

const issuesShown = 10

/**
 * The input of a row with its defaults filled in, or 400 `Invalid request` with details of each problem. Details never
 * repeat values, which may be long or secret.
 */
export function checkInput(row: Operation, raw: Record<string, unknown>): Record<string, unknown> {
  const result = row.input.safeParse(withoutIgnored(row, raw), { error: wording })
  if (result.success) return result.data
  throw new AppError('invalid', 'Invalid request', { details: describeIssues(result.error.issues) })
}

/** Drops the keys that a read adds, so that a client can write back a read object (docs/interface.md#round-trips). */
function withoutIgnored(row: Operation, raw: Record<string, unknown>): Record<string, unknown> {
  const ignored = row.ignored
  if (ignored === undefined || !ignored.some((key) => Object.hasOwn(raw, key))) return raw
  return Object.fromEntries(Object.entries(raw).filter(([key]) => !ignored.includes(key)))
}

function describeIssues(issues: readonly z.core.$ZodIssue[]): string {
  const sentences = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.slice(0, issuesShown + 1).map((key) => `unknown key ${pathText([...issue.path, key])}`)
      : [sentenceOf(issue)],
  )
  const shown = sentences.slice(0, issuesShown)
  if (sentences.length > issuesShown) shown.push('and more')
  return shown.join('; ')
}

function sentenceOf(issue: z.core.$ZodIssue): string {
  const path = pathText(issue.path)
  if (path === '') return issue.message
  if (issue.message === isRequired) return `${path} ${isRequired}`
  // Do not repeat the field if the row's message already names it.
  const field = String(issue.path.at(-1))
  const message = issue.message.startsWith(`${field} `)
    ? issue.message.slice(field.length + 1)
    : issue.message
  return `${path}: ${maskTokens(inSeconds(field, message))}`
}

/** The unit of a duration, because callers often send milliseconds or a text such as `30s`. */
function inSeconds(field: string, message: string): string {
  if (!field.endsWith('Seconds')) return message
  return message
    .replace(/^(must be )a(?: whole)? number$/, '$1a whole number of seconds')
    .replace(/^must be at (?:most|least) \d+$/, '$& seconds')
}

/** `envVars[3].name` */
function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${shownWord(String(part))}`,
    )
    .join('')
}

const isRequired = 'is required'

/** Some callers send null for inputs that they do not use. */
const nullWords = ', not null (omit it if it is not needed)'

const typeWords: Readonly<Record<string, string>> = {
  string: 'must be text',
  number: 'must be a number',
  int: 'must be a whole number',
  boolean: 'must be true or false',
  array: 'must be a list',
  object: 'must be an object',
}

/** Wording for checks without a message of their own; a message in the row wins. */
function wording(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? isRequired
        : `${typeWords[String(issue.expected)] ?? 'has the wrong type'}${issue.input === null ? nullWords : ''}`
    case 'too_big':
      return boundWords(
        'at most',
        issue.origin as string,
        issue.maximum as number,
        issue.inclusive as boolean,
      )
    case 'too_small':
      return boundWords(
        'at least',
        issue.origin as string,
        issue.minimum as number,
        issue.inclusive as boolean,
      )
    case 'invalid_value':
      return issue.input === undefined
        ? isRequired
        : `must be ${(issue.values as unknown[]).join(', ')}`.replace(/, ([^,]*)$/, ' or $1') +
            (issue.input === null ? nullWords : '')
    case 'invalid_format':
      return 'does not have the right format'
    case 'custom':
      return undefined
    default:
      return 'is not valid'
  }
}

function boundWords(bound: string, origin: string, limit: number, inclusive: boolean): string {
  if (origin === 'string') {
    return bound === 'at least' && limit === 1 ? 'must not be empty' : `must be ${bound} ${limit} characters`
  }
  if (origin === 'array') return `must have ${bound} ${limit} entries`
  if (inclusive) return `must be ${bound} ${limit}`
  return `must be ${bound === 'at most' ? 'less' : 'more'} than ${limit}`
}
