import { AppError, httpStatusOf } from '../errors.ts'
import { maskTokens } from './mask-tokens.ts'

/** An error as it goes over the wire. `bug` is there when nobody expected the error: it belongs in the log. */
export interface ErrorResponse {
  status: number
  /** JSON text of `{error, details?}`. */
  body: string
  headers: Record<string, string>
  bug: boolean
}

/** What the framework reports in its own words, in ours. */
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
 * The one place where errors become answers. An `AppError` is told as it is; anything else is a bug: one fixed
 * sentence with the request id, so that the log entry can be found, and nothing of what was thrown.
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

/** JSON text of the error shape; `details` is left out when there is none. */
export function errorBody(error: string, details?: string): string {
  return JSON.stringify(details === undefined ? { error } : { error, details })
}

function bugResponse(requestId: string): ErrorResponse {
  const details = `Request id ${requestId}. The reason is in the server's log under this id.`
  return { status: 500, body: errorBody('Something went wrong on our side', details), headers: {}, bug: true }
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return ''
  return typeof error.code === 'string' && Object.hasOwn(frameworkErrors, error.code) ? error.code : ''
}

/** The private side of an error for the log: name, message, stack and causes, without tokens. */
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
