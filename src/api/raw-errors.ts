import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '../errors.ts'
import { errorResponse } from './error-response.ts'
import { beginFairly } from './fair-queue.ts'

/** Headers of every response. */
export const commonHeaders: Readonly<Record<string, string>> = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

const lingerMs = 1000

/**
 * Answers malformed HTTP with our error body; the parser failed, so there is no request object. Thousands of half-sent
 * requests expire at once.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  beginFairly(socket.remoteAddress ?? '', '', () => answerNow(error, socket))
}

function answerNow(error: NodeJS.ErrnoException, socket: Socket): void {
  const current = (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage
  // A request whose body is malformed gets this response. Otherwise it would be read as that of an earlier request.
  const isOfEarlier = current && (current.headersSent || current.req.complete)
  if (error.code === 'ECONNRESET' || !socket.writable || isOfEarlier) {
    socket.destroy()
    return
  }
  const { status, body } = errorResponse(parserError(error.code), '')
  const headers = {
    ...commonHeaders,
    'x-request-id': randomUUID(),
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
  closeSoon(socket)
}

function parserError(code: string | undefined): AppError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new AppError('too-large', 'Request headers too large', {
      details: 'URL and headers together may have at most 16 KiB. Send long input in a JSON body.',
    })
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new AppError('invalid', 'The request did not arrive in time', { details: 'Send it again.' })
  }
  return new AppError('invalid', 'Malformed HTTP request', {
    details: 'The request is not well-formed HTTP/1.1. Use an ordinary HTTP client.',
  })
}

/** Node answers an unknown `Expect` with an empty 417; this response explains it. */
export function answerUnknownExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const error = new AppError('invalid', 'Invalid request', {
    details: 'The header Expect may only be 100-continue.',
  })
  const { status, body } = errorResponse(error, '')
  writeResponse(response, status, { 'x-request-id': randomUUID(), connection: 'close' }, body)
}

/** Writes a whole response without the framework. */
export function writeResponse(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: string,
): void {
  const length = String(Buffer.byteLength(body))
  response.writeHead(status, { ...commonHeaders, 'content-length': length, ...headers }).end(body)
}

/**
 * Discards input for a moment before closing: closing immediately, while the client still sends, would reset the
 * connection and destroy the response before it is read.
 */
function closeSoon(socket: Socket): void {
  socket.on('error', () => {})
  socket.resume()
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

/**
 * Discards the unread rest of a request body after its response, for a limited time. A request of this process to
 * itself has no connection and is never `complete`.
 */
export function discardRest(request: IncomingMessage, forMs = 5000): void {
  if (request.complete || request.readableEnded || request.destroyed) return
  const timer = setTimeout(() => request.destroy(), forMs).unref()
  request.on('error', () => {})
  request.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
  request.resume()
}
