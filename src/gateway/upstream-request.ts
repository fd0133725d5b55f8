import type { RequestHead } from './request-head.ts'

const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])
const expectBody = new Set(['POST', 'PUT', 'PATCH'])

/** A second try does no harm: nothing of it is used up, and doing it twice is doing it once. */
export function mayBeSentTwice(head: RequestHead): boolean {
  return !head.chunked && head.bodyLength === 0 && !head.upgrade && idempotent.has(head.method)
}

/** The request as the container gets it: framing and hop-by-hop headers are written anew. */
export function renderRequest(head: RequestHead, remoteAddress: string): string {
  const { block, host } = head
  let framing = ''
  if (head.chunked) framing = 'transfer-encoding: chunked\r\n'
  else if (head.bodyLength > 0 || expectBody.has(head.method)) {
    framing = `content-length: ${head.bodyLength}\r\n`
  }
  if (head.upgrade) framing += 'connection: Upgrade\r\nupgrade: websocket\r\n'
  const before = block.forwardedFor && `${block.forwardedFor}, `
  return (
    `${head.method} ${head.target} HTTP/1.1\r\nhost: ${host}\r\n${block.headers}${framing}` +
    `x-forwarded-for: ${before}${remoteAddress}\r\nx-forwarded-host: ${host}\r\nx-forwarded-proto: http\r\n\r\n`
  )
}
