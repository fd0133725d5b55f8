import type { IncomingHttpHeaders } from 'node:http'
import { type ConfirmedBy, confirmers, type Surface } from '../contract/audit.ts'
import { line } from '../contract/fields.ts'
import type { Operation } from '../contract/operation.ts'
import { isRead } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import type { Call } from '../operations/core/call.ts'
import { spanIn } from '../trace.ts'

/** Options of a call from its headers. */
type CallHeaders = Pick<
  Call,
  | 'surface'
  | 'agentSession'
  | 'agent'
  | 'confirmedBy'
  | 'idempotencyKey'
  | 'dryRun'
  | 'traceparent'
  | 'declined'
>

/**
 * The options of a call. `Longshore-Session` and `Longshore-Agent` name an agent session and its agent in the
 * audit log. An invalid header is rejected with 400; reads ignore those for safety, because they change
 * nothing.
 *
 * - `Idempotency-Key`: 1 to 255 printable characters
 * - `Dry-Run`, `Longshore-Declined`: true or false
 * - `Longshore-Session`: 1 to 64 letters, digits, _ and -
 * - `Longshore-Agent`: 1 to 100 characters, URL-encoded
 * - `Longshore-Confirmed-By`: host or model
 * - `Longshore-Surface`: a surface of the audit log
 */
export function callHeaders(row: Operation, headers: IncomingHttpHeaders): CallHeaders {
  const idempotencyKey = headers['idempotency-key'] as string | undefined
  if (idempotencyKey !== undefined && !/^[\x20-\x7e]{1,255}$/.test(idempotencyKey)) {
    throw new AppError('invalid', 'Invalid request', {
      details: 'The header Idempotency-Key must be 1 to 255 printable characters.',
    })
  }
  const declined = booleanOf(headers, 'Longshore-Declined')
  const dryRun = booleanOf(headers, 'Dry-Run') || declined
  const read = isRead(row)
  return {
    agentSession: sessionOf(headers['longshore-session'] as string | undefined),
    agent: agentOf(headers['longshore-agent'] as string | undefined),
    confirmedBy: confirmedByOf(headers['longshore-confirmed-by'] as string | undefined),
    surface: surfaceOf(headers['longshore-surface'] as string | undefined),
    traceparent: spanIn(headers.traceparent),
    idempotencyKey: read ? null : (idempotencyKey ?? null),
    dryRun: !read && dryRun,
    declined: !read && declined,
  }
}

function booleanOf(headers: IncomingHttpHeaders, name: 'Dry-Run' | 'Longshore-Declined'): boolean {
  const value = headers[name.toLowerCase()] as string | undefined
  if (value === undefined) return false
  const word = value.toLowerCase()
  if (word === 'true' || word === 'false') return word === 'true'
  throw new AppError('invalid', 'Invalid request', { details: `The header ${name} must be true or false.` })
}

function sessionOf(value: string | undefined): string | undefined {
  if (value === undefined || /^[\w-]{1,64}$/.test(value)) return value
  throw new AppError('invalid', 'Invalid request', {
    details: 'The header Longshore-Session must be 1 to 64 letters, digits, _ or -.',
  })
}

function agentOf(value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  try {
    return line(100).parse(decodeURIComponent(value))
  } catch {
    throw new AppError('invalid', 'Invalid request', {
      details: 'The header Longshore-Agent must be one line of 1 to 100 characters, URL-encoded.',
    })
  }
}

function confirmedByOf(value: string | undefined): ConfirmedBy | undefined {
  const known = confirmers.find((one) => one === value)
  if (value === undefined || known !== undefined) return known
  throw new AppError('invalid', 'Invalid request', {
    details: 'The header Longshore-Confirmed-By must be host or model.',
  })
}

function surfaceOf(value: string | undefined): Surface {
  return value === 'mcp' || value === 'cli' ? value : 'rest'
}
