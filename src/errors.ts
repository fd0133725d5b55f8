/** Kinds of error, from the caller's point of view. Each has one HTTP status (docs/interface.md#errors). */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not-found'
  | 'method-not-allowed'
  | 'conflict'
  | 'too-large'
  | 'rate-limited'
  | 'unavailable'

export const httpStatusOf: Readonly<Record<ErrorKind, number>> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  'method-not-allowed': 405,
  conflict: 409,
  'too-large': 413,
  'rate-limited': 429,
  unavailable: 503,
}

interface AppErrorOptions {
  /** Advice on how to proceed. Public. */
  details?: string
  /** Id of the interface rule that was broken, such as `F8`. Public on tools. */
  rule?: string
  /** For `rate-limited` and `unavailable`: when a retry may help, in seconds. */
  retryAfterSeconds?: number
  /** The private reason. Goes to the log and nowhere else. */
  cause?: unknown
}

/**
 * The one error that reaches callers. `message` and `details` are public and become `{error, details}`;
 * anything else thrown is a bug and is answered with one fixed sentence and a request id.
 */
export class AppError extends Error {
  readonly kind: ErrorKind
  readonly details: string | undefined
  readonly rule: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(kind: ErrorKind, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.kind = kind
    this.details = options.details
    this.rule = options.rule
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

/** Throws for a call that breaks a rule (src/contract/rules.ts); null: it breaks none. */
export function rejectViolation(violation: { message: string; details: string; rule?: string } | null): void {
  if (violation) throw new AppError('invalid', violation.message, violation)
}

/** The log level for failures of retried work: an outage ends by itself, anything else is a bug. */
export function logLevelOf(error: unknown): 'warn' | 'error' {
  return error instanceof AppError ? 'warn' : 'error'
}
