import { AppError } from '../errors.ts'
import { visibleDeep, visibleInline } from './untrusted-text.ts'

/** What a call gives back, whatever carries it: the same facts as text and as an object. */
export interface ToolResult {
  isError: boolean
  text: string
  structured: Record<string, unknown>
}

/** The answer of a call: the point in one sentence, then the facts. */
export function successResult(options: {
  point: string
  answer: Record<string, unknown>
  notes?: readonly string[]
  /** Replaces the JSON where the answer is mostly text of tenants. */
  body?: string
}): ToolResult {
  const notes = options.notes ?? []
  const structured = visibleDeep(notes.length === 0 ? options.answer : { ...options.answer, notes })
  // One line each: a line feed in a name must not begin a line that passes for ours.
  const said = [options.point, ...notes].map((line) => visibleInline(line, 2_000)).join('\n')
  return { isError: false, text: `${said}\n${options.body ?? JSON.stringify(structured)}`, structured }
}

/** A refusal or a failure: what is wrong, the rule, what to do, and whether a retry helps. */
export function errorResult(
  error: AppError,
  extra: Record<string, unknown> = {},
  tail = '',
  /** What of `extra` the text tells. */
  told = extra,
): ToolResult {
  const retryable = isRetryable(error)
  const structured = visibleDeep({
    error: error.message,
    ...(error.details === undefined ? {} : { details: error.details }),
    ...(error.rule === undefined ? {} : { rule: error.rule }),
    retryable,
    ...(error.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds }),
    ...extra,
  })
  const lines = [
    `Error: ${visibleInline(error.message, 1_000)}${error.rule === undefined ? '' : ` (rule ${error.rule})`}`,
    ...(error.details === undefined ? [] : [visibleInline(error.details, 4_000)]),
    retrySentence(error, retryable),
    ...(Object.keys(told).length === 0 ? [] : [JSON.stringify(visibleDeep(told))]),
    ...(tail === '' ? [] : [tail]),
  ]
  return { isError: true, text: lines.join('\n'), structured }
}

/** A bug of ours: the caller sees one fixed sentence and an id that stands in the log too. */
export function faultResult(requestId: string): ToolResult {
  return errorResult(
    new AppError('unavailable', 'Longshore failed to carry out the call', {
      details: `This is a fault of Longshore, not of the call. Its log has the reason under request id ${requestId}. Look at the state with a read before you repeat a write.`,
    }),
  )
}

function isRetryable(error: AppError): boolean {
  return error.kind === 'unavailable' || error.kind === 'rate-limited'
}

function retrySentence(error: AppError, retryable: boolean): string {
  if (!retryable) {
    return error.kind === 'conflict'
      ? 'Retry: only after reading the current state again.'
      : 'Retry: the same call fails again; change it first.'
  }
  return error.retryAfterSeconds === undefined
    ? 'Retry: may help in a moment.'
    : `Retry: may help after ${error.retryAfterSeconds} s.`
}
