import { AppError, type ErrorKind, httpStatusOf } from '../errors.ts'
import type { HttpAnswer } from './client.ts'

const kindOfStatus = new Map(
  Object.entries(httpStatusOf).map(([kind, status]) => [status, kind as ErrorKind]),
)

/** What the platform said, as the same error it was there: kind, words, rule and when to retry. */
export function errorFromAnswer(answer: HttpAnswer, body: unknown, base: string): AppError {
  const said = body as { error?: unknown; details?: unknown; rule?: unknown } | null | undefined
  if (typeof said !== 'object' || said === null || typeof said.error !== 'string') {
    return new AppError('unavailable', 'The answer is not one of Longshore', {
      details: `${originOf(base)} answered status ${answer.status} without Longshore's error body. Check that LONGSHORE_URL is the address of a Longshore platform.`,
    })
  }
  const rule = typeof said.rule === 'string' ? said.rule : answer.header('longshore-rule')
  return new AppError(kindOf(answer.status), said.error, {
    ...(typeof said.details === 'string' ? { details: said.details } : {}),
    ...(rule === undefined ? {} : { rule }),
    ...retryAfter(answer),
  })
}

function kindOf(status: number): ErrorKind {
  return kindOfStatus.get(status) ?? (status >= 500 ? 'unavailable' : 'invalid')
}

function retryAfter(answer: HttpAnswer): { retryAfterSeconds?: number } {
  const seconds = Number(answer.header('retry-after'))
  return Number.isFinite(seconds) && seconds > 0 ? { retryAfterSeconds: seconds } : {}
}

/** The platform could not be asked at all, or the answer was lost on the way. */
export function errorFromTransport(error: unknown, base: string): AppError {
  if (error instanceof AppError) return error
  const code = codeOf(error)
  if (neverReached.has(code)) {
    return new AppError('unavailable', 'The platform cannot be reached', {
      details: `Nothing answers at ${originOf(base)} (${code}). Start it with "longshore serve", or set LONGSHORE_URL to where it runs.`,
      cause: error,
    })
  }
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code.includes('_CERT')) {
    return new AppError('unavailable', 'The platform cannot be reached', {
      details: `No secure connection to ${originOf(base)} (${code}). Longshore itself speaks http: use http:// in LONGSHORE_URL, or mend the certificate of the proxy before it.`,
      cause: error,
    })
  }
  return new AppError('unavailable', 'The platform did not answer', {
    details: `The connection to ${originOf(base)} ended before the answer came${code === '' ? '' : ` (${code})`}. Look at the state with a read before you repeat a write.`,
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

/** True when the request never arrived: sending it again cannot do anything twice. */
export function neverArrived(error: unknown): boolean {
  return error instanceof AppError && error.kind === 'unavailable' && neverReached.has(codeOf(error.cause))
}

/** True when the connection broke under way: a repeat needs the same idempotency key. */
export function brokeUnderWay(error: unknown): boolean {
  if (!(error instanceof AppError) || error.kind !== 'unavailable') return false
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(codeOf(error.cause))
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { code, errors, cause } = error as { code?: unknown; errors?: unknown[]; cause?: unknown }
  if (typeof code === 'string') return code
  // A name with several addresses fails with one error for each.
  if (Array.isArray(errors) && errors.length > 0) return codeOf(errors[0])
  return cause === undefined ? '' : codeOf(cause)
}

/** Scheme, host and port only: an address may carry a password. */
function originOf(base: string): string {
  try {
    return new URL(base).origin
  } catch {
    return 'the address given'
  }
}
