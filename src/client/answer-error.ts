import { AppError, type ErrorKind, httpStatusOf } from '../errors.ts'
import type { HttpResponse } from './http-send.ts'

const kindOfStatus = new Map(
  Object.entries(httpStatusOf).map(([kind, status]) => [status, kind as ErrorKind]),
)

/** The platform's error as an `AppError`: kind, message, rule and retry delay. */
export function errorFromResponse(answer: HttpResponse, body: unknown, base: string): AppError {
  const parsed = body as { error?: unknown; details?: unknown; rule?: unknown } | null | undefined
  if (typeof parsed !== 'object' || parsed === null || typeof parsed.error !== 'string') {
    return new AppError('unavailable', 'The response is not from Longshore', {
      details: `${originOf(base)} answered status ${answer.status} without Longshore's error body. Check that LONGSHORE_URL is the address of a Longshore platform.`,
    })
  }
  const rule = typeof parsed.rule === 'string' ? parsed.rule : answer.header('longshore-rule')
  return new AppError(kindOf(answer.status), parsed.error, {
    ...(typeof parsed.details === 'string' ? { details: parsed.details } : {}),
    ...(rule === undefined ? {} : { rule }),
    ...retryAfter(answer),
  })
}

function kindOf(status: number): ErrorKind {
  return kindOfStatus.get(status) ?? (status >= 500 ? 'unavailable' : 'invalid')
}

function retryAfter(answer: HttpResponse): { retryAfterSeconds?: number } {
  const seconds = Number(answer.header('retry-after'))
  return Number.isFinite(seconds) && seconds > 0 ? { retryAfterSeconds: seconds } : {}
}

/** The error of a request that did not reach the platform, or whose response was lost. */
export function errorFromTransport(error: unknown, base: string): AppError {
  if (error instanceof AppError) return error
  const code = codeOf(error)
  if (neverReached.has(code)) {
    return new AppError('unavailable', 'The platform cannot be reached', {
      details: `No connection to ${originOf(base)} (${code}). Start the platform with "longshore serve", or set LONGSHORE_URL to its address.`,
      cause: error,
    })
  }
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code.includes('_CERT')) {
    return new AppError('unavailable', 'The platform cannot be reached', {
      details: `No secure connection to ${originOf(base)} (${code}). Longshore itself serves http: use http:// in LONGSHORE_URL, or fix the certificate of the proxy in front of it.`,
      cause: error,
    })
  }
  return new AppError('unavailable', 'The platform did not answer', {
    details: `The connection to ${originOf(base)} ended before the response arrived${code === '' ? '' : ` (${code})`}. Read the current state before you repeat a write.`,
    cause: error,
  })
}

const neverReached = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** True when the request never arrived, so a repeat is safe. */
export function neverArrived(error: unknown): boolean {
  return error instanceof AppError && error.kind === 'unavailable' && neverReached.has(codeOf(error.cause))
}

/** True when the connection broke during the request, so a repeat needs the same idempotency key. */
export function brokeUnderWay(error: unknown): boolean {
  if (!(error instanceof AppError) || error.kind !== 'unavailable') return false
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(codeOf(error.cause))
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { code, errors, cause } = error as { code?: unknown; errors?: unknown[]; cause?: unknown }
  if (typeof code === 'string') return code
  // A name with several addresses fails with one error for each address.
  if (Array.isArray(errors) && errors.length > 0) return codeOf(errors[0])
  return cause === undefined ? '' : codeOf(cause)
}

/** Scheme, host and port only: an address may carry a password. */
function originOf(base: string): string {
  try {
    return new URL(base).origin
  } catch {
    return 'the given address'
  }
}
