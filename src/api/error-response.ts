import { AppError, httpStatusOf } from '../errors.ts'
import { maskTokens } from '../operations/core/mask-tokens.ts'

/** An error response. `bug`: the error was unexpected and must be logged. */
interface ErrorResponse {
  status: number
  /** JSON text of `{error, details?}`. */
  body: string
  headers: Record<string, string>
  bug: boolean
}

/** Errors of the framework in our wording. */
const frameworkErrors: Readonly<Record<string, AppError>> = {
  FST_ERR_BAD_URL: new AppError('invalid', 'Invalid address', {
    details: 'The path is not correctly percent-encoded.',
  }),
  FST_ERR_MAX_PARAM_LENGTH: new AppError('not-found', 'Not found'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new AppError('invalid', 'Invalid content type', {
    details: 'Send JSON with Content-Type: application/json.',
  }),
}

/**
 * The only place where errors become responses. An `AppError` is sent unchanged; any other error is a bug and becomes
 * one fixed sentence with the request id for finding the log entry.
 */
export function errorResponse(error: unknown, requestId: string): ErrorResponse {
  const known = error instanceof AppError ? error : frameworkErrors[codeOf(error)]
  if (known === undefined) return bugResponse(requestId)
  const headers: Record<string, string> = {}
  if (known.rule !== undefined && /^[\w.-]{1,32}$/.test(known.rule)) headers['longshore-rule'] = known.rule
  if (known.retryAfterSeconds !== undefined) {
    headers['retry-after'] = String(Math.max(1, Math.ceil(known.retryAfterSeconds)))
  }
  if (known.kind === 'unauthenticated') headers['www-authenticate'] = 'Bearer'
  return {
    status: httpStatusOf[known.kind],
    body: errorBody(known.message, known.details),
    headers,
    bug: false,
  }
}

/** JSON text of the error shape; `details` is omitted if absent. */
export function errorBody(error: string, details?: string): string {
  return JSON.stringify(details === undefined ? { error } : { error, details })
}

function bugResponse(requestId: string): ErrorResponse {
  const details = `Request id ${requestId}. The server's log shows the cause under this id.`
  return { status: 500, body: errorBody('Something went wrong on our side', details), headers: {}, bug: true }
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return ''
  return typeof error.code === 'string' && Object.hasOwn(frameworkErrors, error.code) ? error.code : ''
}

/** The private part of an error for the log: name, message, stack and causes, without tokens. */
export function describeForLog(error: unknown): string {
  const lines: string[] = []
  let current: unknown = error
  for (let depth = 0; depth < 5 && current !== undefined; depth += 1) {
    lines.push(
      current instanceof Error ? (current.stack ?? String(current)) : `not an Error: ${typeof current}`,
    )
    current = current instanceof Error ? current.cause : undefined
  }
  return maskTokens(lines.join('\ncaused by: ')).slice(0, 16_384)
}
