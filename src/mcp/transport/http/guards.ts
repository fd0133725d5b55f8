import type { IncomingMessage, ServerResponse } from 'node:http'
import { createHostCheck, type ServerNames } from '../../../host-check.ts'

/** The response to a request that is rejected before its protocol messages are read. */
export interface Refusal {
  status: number
  error: string
  details: string
  headers?: Record<string, string>
}

/** Makes the check against web pages that make a browser talk to this server, known by these names. */
export function createForeignGuard(names: ServerNames): (req: IncomingMessage) => Refusal | null {
  const check = createHostCheck(names)
  return ({ headers }) => {
    const problem = check(headers)
    if (problem === null) return null
    return problem === 'foreign origin' ? originForeign : hostForeign
  }
}

const hostForeign: Refusal = {
  status: 403,
  error: 'Host not allowed',
  details:
    'Use the address that the platform prints when it starts, or set LONGSHORE_HOST to the name you use.',
}
const originForeign: Refusal = {
  status: 403,
  error: 'Origin not allowed',
  details:
    'Web pages of other origins may not use this server. Clients that are not browsers send no Origin.',
}

/** A GET only resumes a stream. */
export function isOurMethod({ method, headers }: IncomingMessage): boolean {
  if (method === 'GET') return headers['last-event-id'] !== undefined
  return method === 'POST' || method === 'DELETE'
}

export const unauthenticated: Refusal = {
  status: 401,
  error: 'User not authenticated',
  details: 'Send the header Authorization: Bearer <token> with every request, a user or environment token.',
  headers: { 'www-authenticate': 'Bearer realm="longshore"' },
}

/** Sends a rejection as `{error, details}` and closes the connection if a body is still arriving. */
export function refuse(req: IncomingMessage, res: ServerResponse, refusal: Refusal): void {
  if (res.headersSent || res.destroyed) return
  const body = JSON.stringify({ error: refusal.error, details: refusal.details })
  res.writeHead(refusal.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(req.complete ? {} : { connection: 'close' }),
    ...refusal.headers,
  })
  res.end(body)
}

/**
 * Reads a body of at most `bytes`; returns `too large` when it is larger, and `gone` when the client disconnected or took
 * longer than `ms`.
 */
export async function readBody(
  req: IncomingMessage,
  { bytes, ms }: { bytes: number; ms: number },
): Promise<Buffer | 'too large' | 'gone'> {
  if (Number(req.headers['content-length'] ?? 0) > bytes) return 'too large'
  const chunks: Buffer[] = []
  let size = 0
  const timer = setTimeout(() => req.destroy(), ms)
  try {
    for await (const chunk of req as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > bytes) return 'too large'
      chunks.push(chunk)
    }
  } catch (error) {
    if (!req.complete) return 'gone'
    throw error
  } finally {
    clearTimeout(timer)
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}
