import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '../errors.ts'
import { errorResponse } from './error-response.ts'

/** Headers that every answer carries, whoever writes it. */
export const commonHeaders: Readonly<Record<string, string>> = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

const lingerMs = 1000

/** Answers what is not HTTP at all, in our shape: the parser gave up, so there is no request to reply to. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  const busy = (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage
  // With an answer under way, another one in the middle of it would be read as its content.
  if (error.code === 'ECONNRESET' || !socket.writable || busy) {
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
      details: 'Address and headers together may have 16 KiB. Send long input in a JSON body.',
    })
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new AppError('invalid', 'The request did not arrive', { details: 'Send it again, faster.' })
  }
  return new AppError('invalid', 'Malformed HTTP request', {
    details: 'The request is not well-formed HTTP/1.1. Use an ordinary HTTP client.',
  })
}

/** Node answers an unknown `Expect` with an empty 417; ours says what is wrong. */
export function answerUnknownExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const error = new AppError('invalid', 'Invalid request', {
    details: 'The header Expect may only say 100-continue.',
  })
  const { status, body } = errorResponse(error, '')
  writeAnswer(response, status, { 'x-request-id': randomUUID(), connection: 'close' }, body)
}

/** Writes a whole answer where the framework is not in charge. */
export function writeAnswer(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: string,
): void {
  const length = String(Buffer.byteLength(body))
  response.writeHead(status, { ...commonHeaders, 'content-length': length, ...headers }).end(body)
}

/**
 * Reads on for a moment and throws it away: closing at once, while the other side still sends, would reset the
 * connection and destroy the answer before it is read.
 */
function closeSoon(socket: Socket): void {
  socket.on('error', () => {})
  socket.resume()
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

/** After an answer to a request whose body was not read: throws the rest away, for a limited time. */
export function discardRest(request: IncomingMessage, forMs = 5000): void {
  if (request.complete || request.destroyed) return
  const timer = setTimeout(() => request.socket.destroy(), forMs).unref()
  request.on('error', () => {})
  request.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
  request.resume()
}
