import type { Socket } from 'node:net'
import { newTraceparent } from '../../trace.ts'
import type { RequestHead } from '../http/request-head.ts'

const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])
const expectBody = new Set(['POST', 'PUT', 'PATCH'])

/** Whether the request is idempotent and its body is still available, so that it may be sent again. */
export function mayBeSentTwice(head: RequestHead): boolean {
  return !head.chunked && head.bodyLength === 0 && !head.upgrade && idempotent.has(head.method)
}

/**
 * The request head for the container: framing and hop-by-hop headers are generated, and a `traceparent` if the request
 * brought no valid one.
 */
export function renderRequest(head: RequestHead, forwardingLines: string): string {
  const { block, host } = head
  let framing = ''
  if (head.chunked) framing = 'transfer-encoding: chunked\r\n'
  else if (head.bodyLength > 0 || expectBody.has(head.method)) {
    framing = `content-length: ${head.bodyLength}\r\n`
  }
  if (head.upgrade) framing += 'connection: Upgrade\r\nupgrade: websocket\r\n'
  // Sent again to another container, it stays the same trace.
  head.traceparent ??= newTraceparent()
  const trace = `traceparent: ${head.traceparent}\r\n${block.traceparent ? block.tracestate : ''}`
  return (
    `${head.method} ${head.target} HTTP/1.1\r\nhost: ${host}\r\n${block.headers}${framing}` +
    `${trace}${forwardingLines}\r\n`
  )
}

/** Writes a part of a chunked body as one chunk; false: the container reads slower. */
export function writeChunk(socket: Socket, data: Buffer): boolean {
  socket.cork()
  socket.write(`${data.length.toString(16)}\r\n`, 'latin1')
  socket.write(data)
  const room = socket.write('\r\n', 'latin1')
  socket.uncork()
  return room
}

/** Ends a chunked body. */
export const lastChunk = '0\r\n\r\n'
