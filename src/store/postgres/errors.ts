import pg from 'pg'
import { AppError } from '../../errors.ts'

/** Caused by another transaction: the same work may succeed when it runs again. */
const conflictCodes = ['40001', '40P01']
const duplicateCode = '23505'
/** A write to a replica, or to a server that was set to read-only. */
const readOnlyCode = '25006'

/** SQLSTATE classes and codes of a server that is down, full or overloaded. */
const awayCodes = ['08', '53', '57P', '58', '57014', '25P03', '55P03', '28', '3D000']
const networkCodes = [
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
]
/** Errors without a code in the client library. */
const networkMessages =
  /^(?:Connection terminated|Client has encountered a connection error|Query read timeout|timeout e|The server does not support SSL|There was an error establishing an SSL)/

/** SQLSTATE of PostgreSQL, or the system's error code; empty if there is none. */
export function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** How many attempts the transaction deserves; 1 if another attempt cannot help. */
export function triesWorth(error: unknown): number {
  if (!(error instanceof pg.DatabaseError)) return 1
  if (conflictCodes.includes(codeOf(error))) return 12
  // A concurrent transaction can cause a duplicate key; a real duplicate fails again.
  return codeOf(error) === duplicateCode ? 3 : 1
}

/** Whether the connection itself is unusable; a new one may lead to the primary. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return /^(?:08|57P|25P03|25006)/.test(codeOf(error))
  return networkCodes.includes(codeOf(error)) || networkMessages.test(String((error as Error).message))
}

/** The public form of a driver error. Conflicts are returned unchanged: the adapter retries them. */
export function translated(error: unknown, statement: string): unknown {
  if (triesWorth(error) > 1) return error
  const code = codeOf(error)
  const isDatabaseError = error instanceof pg.DatabaseError
  if (isDatabaseError && code === '22021') {
    return new AppError('invalid', 'Text contains a character that cannot be stored', {
      details: 'Remove the character U+0000 from names and ids.',
      cause: error,
    })
  }
  const isAway = isDatabaseError ? awayCodes.some((away) => code.startsWith(away)) : isConnectionLost(error)
  if (isDatabaseError && code === readOnlyCode) return readOnly(error)
  return isAway ? unavailable(error, statement === 'commit') : error
}

function readOnly(cause: unknown): AppError {
  return new AppError('unavailable', 'The store can only be read', {
    details:
      'PostgreSQL is a replica or set to read-only; nothing was changed. An operator must make it writable, or give the address of the primary in LONGSHORE_DATABASE_URL. Try again later.',
    retryAfterSeconds: 5,
    cause,
  })
}

export function unavailable(cause: unknown, isOutcomeUnknown = false): AppError {
  return new AppError('unavailable', 'The store is not available', {
    details: isOutcomeUnknown
      ? 'The connection was lost while the change was being stored: read the object to see whether it is there, or repeat the request with the same Idempotency-Key.'
      : 'PostgreSQL is away, overloaded or full; nothing was changed. Try again later.',
    retryAfterSeconds: 5,
    cause,
  })
}

export function busy(cause: unknown): AppError {
  return new AppError('unavailable', 'The store is busy', {
    details: 'Concurrent changes of the same objects won each time; nothing was changed. Try again.',
    retryAfterSeconds: 1,
    cause,
  })
}

/** Why the platform cannot start with a database, with the remedy. Other errors are returned unchanged. */
export function startProblem(error: unknown, label: string): unknown {
  const root = error instanceof AppError && error.cause !== undefined ? error.cause : error
  const code = codeOf(root)
  const problem = (message: string, details: string) =>
    new AppError('unavailable', message, { details, cause: root })
  if (code.startsWith('28')) {
    return problem(
      `PostgreSQL at ${label} refuses the user or the password`,
      'Correct the user and password in LONGSHORE_DATABASE_URL, or the pg_hba.conf of the server.',
    )
  }
  if (code === '3D000') {
    return problem(`There is no database ${label}`, 'Create it, or correct LONGSHORE_DATABASE_URL.')
  }
  if (code === '42501') {
    return problem(
      `The user may not create tables in ${label}`,
      'Make the user of LONGSHORE_DATABASE_URL the owner of the database.',
    )
  }
  if (code.startsWith('53')) {
    return problem(
      `PostgreSQL at ${label} has too few connections, memory or disk`,
      `${reasonOf(root)}: ${String((root as Error).message)}. Raise max_connections or the limit of the user, or free space there.`,
    )
  }
  if (/CERT|SIGNATURE|TLS/.test(code) || /SSL/.test(String((root as Error).message))) {
    return problem(
      `No trusted TLS connection to PostgreSQL at ${label}`,
      `${reasonOf(root)}. Name the CA with sslrootcert=/file, or set sslmode=disable for a network you trust.`,
    )
  }
  if (isConnectionLost(root)) {
    return problem(
      `PostgreSQL does not answer at ${label}`,
      `${reasonOf(root)}. Start it, or correct the host and port in LONGSHORE_DATABASE_URL.`,
    )
  }
  return error
}

function reasonOf(error: unknown): string {
  return codeOf(error) || String((error as Error).message)
}
