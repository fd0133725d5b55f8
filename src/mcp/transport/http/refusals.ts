import type { AppError } from '../../../errors.ts'
import { protocolVersions } from '../server.ts'
import type { Refusal } from './guards.ts'

export const wrongMethod: Refusal = {
  status: 405,
  error: 'Method not allowed',
  details:
    'Send messages with POST; DELETE ends a session. Responses come with the POST; GET only resumes a broken stream, with Last-Event-ID.',
  headers: { allow: 'POST, DELETE' },
}
export const unknownVersion: Refusal = {
  status: 400,
  error: 'Unsupported protocol version',
  details: `Mcp-Protocol-Version must be one of ${protocolVersions.join(', ')}.`,
}
export const unknownSession: Refusal = {
  status: 404,
  error: 'Session not found',
  details: 'The session has ended or expired. Send initialize again, without Mcp-Session-Id.',
}
export const unknownStream: Refusal = {
  status: 400,
  error: 'Stream not found',
  details: 'The stream was read to its end or has expired. Read the current state before repeating a write.',
}
export const otherOptions: Refusal = {
  status: 400,
  error: 'The session has other options',
  details:
    'The session was opened with another address or other headers. Use the same ones, or send initialize again.',
}
export const notAcceptable: Refusal = {
  status: 406,
  error: 'Not acceptable',
  details: 'Accept must name application/json and text/event-stream.',
}
export const notJson: Refusal = {
  status: 415,
  error: 'Unsupported media type',
  details: 'Content-Type must be application/json.',
}
export function tooLarge(limit: number): Refusal {
  return { status: 413, error: 'Request too large', details: `A request may have at most ${limit} bytes.` }
}

export function tooMany({ message, details = '', retryAfterSeconds = 1 }: AppError): Refusal {
  const after = String(Math.max(1, Math.ceil(retryAfterSeconds)))
  return { status: 429, error: message, details, headers: { 'retry-after': after } }
}
