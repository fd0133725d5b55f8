import { AppError } from '../../errors.ts'
import { sanitizeDeep, sanitizeInline } from '../policy/untrusted-text.ts'
import type { ResourceLink } from '../resources/log-links.ts'
import type { Note } from './define-tool.ts'
import type { TaskRef } from './task-ref.ts'

/** The result of a call, independent of the transport: the same facts as text and as an object. */
export interface ToolResult {
  isError: boolean
  text: string
  structured: Record<string, unknown>
  /** Resources that a host can read beyond the result. */
  links?: readonly ResourceLink[]
  /** The call goes on as a task, and has no result yet; only for clients that take tasks. */
  task?: { ref: TaskRef; message: string /** Where a person decides. */; url?: string }
  /** A task that was canceled. */
  canceled?: boolean
}

/** The result of a successful call: one sentence, then the facts. */
export function successResult(options: {
  point: string
  answer: Record<string, unknown>
  notes?: readonly Note[]
  /** Replaces the JSON if the response is mostly tenants' text. */
  body?: string
}): ToolResult {
  const notes = options.notes ?? []
  const sentences = notes.map((note) => (typeof note === 'string' ? note : note.text))
  const fields = notes.map((note) => (typeof note === 'string' ? {} : note.fields))
  const structured = sanitizeDeep(
    Object.assign({}, options.answer, ...fields, notes.length === 0 ? {} : { notes: sentences }),
  ) as Record<string, unknown>
  // One line each: a line feed in a name must not start a line that looks like ours.
  const summary = [options.point, ...sentences].map((line) => sanitizeInline(line, 2_000)).join('\n')
  return { isError: false, text: `${summary}\n${options.body ?? JSON.stringify(structured)}`, structured }
}

/** No result yet: the call goes on as a task. `message` is our own text. */
export function taskResult(ref: TaskRef, message: string, url?: string): ToolResult {
  const task = { ref, message: sanitizeInline(message, 1_000), ...(url !== undefined && { url }) }
  return { isError: false, text: message, structured: {}, task }
}

/** An error result: the problem, the rule, the remedy, and whether a retry helps. */
export function errorResult(
  error: AppError,
  extra: Record<string, unknown> = {},
  tail = '',
  /** The part of `extra` that the text shows. */
  shown = extra,
): ToolResult {
  const retryable = isRetryable(error)
  const structured = sanitizeDeep({
    error: error.message,
    ...(error.details === undefined ? {} : { details: error.details }),
    ...(error.rule === undefined ? {} : { rule: error.rule }),
    retryable,
    ...(error.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds }),
    ...extra,
  })
  const lines = [
    `Error: ${sanitizeInline(error.message, 1_000)}${error.rule === undefined ? '' : ` (rule ${error.rule})`}`,
    ...(error.details === undefined ? [] : [sanitizeInline(error.details, 4_000)]),
    retrySentence(error, retryable),
    ...(Object.keys(shown).length === 0 ? [] : [JSON.stringify(sanitizeDeep(shown))]),
    ...(tail === '' ? [] : [tail]),
  ]
  return { isError: true, text: lines.join('\n'), structured }
}

/** A bug of Longshore: the caller gets one fixed sentence and the request id that is in the log. */
export function faultResult(requestId: string): ToolResult {
  return errorResult(
    new AppError('unavailable', 'Longshore failed to carry out the call', {
      details: `This is a fault of Longshore, not of the call. Its log shows the cause under request id ${requestId}. Read the current state before you repeat a write.`,
    }),
  )
}

function isRetryable(error: AppError): boolean {
  const isWait = error.kind === 'unavailable' || error.kind === 'rate-limited'
  return isWait || error.retryAfterSeconds !== undefined
}

function retrySentence(error: AppError, retryable: boolean): string {
  if (!retryable) {
    return error.kind === 'conflict'
      ? 'Retry: only after reading the current state again.'
      : 'Retry: the same call would fail again; change it first.'
  }
  return error.retryAfterSeconds === undefined
    ? 'Retry: may help in a moment.'
    : `Retry: may help after ${error.retryAfterSeconds} s.`
}
